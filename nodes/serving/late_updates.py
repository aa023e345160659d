"""What a server does when updates are missing at the deadline of a round."""

from math import ceil

from contracts.plan import Limits


class RoundFailed(Exception):
    """A round could not be completed as the scenario demands."""


def quorum(share: float, present: int) -> int:
    """Return that share of the children as a whole number, at least one if anybody is present."""
    # The small margin absorbs rounding: 0.07 of 100 is 7.000000000000001 in floating point.
    return max(min(present, 1), ceil(share * present - 1e-9))


class LatePolicy:
    """Applies the scenario's `limits.late`: abort the run, wait again, or go on with a quorum."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    @property
    def tolerates_losses(self) -> bool:
        """Whether a round may go on without a child that cannot be reached."""
        return self._limits.late == "quorum"

    def needed(self, present: int) -> int:
        """Return how many updates a round needs when this many children take part."""
        share = self._limits.quorum if self.tolerates_losses else 1.0
        return quorum(share, present)

    def describe(self, arrived: int, present: int) -> str:
        """Return the counts as error messages show them."""
        return f"{arrived} of {present}, {self.needed(present)} wanted"

    def goes_on(self, round: int, missing: set[str], arrived: int, present: int) -> bool:
        """Decide at the deadline: True to go on without the missing, False to wait once more.

        Raises RoundFailed where the scenario allows neither.
        """
        if self.tolerates_losses and arrived >= self.needed(present):
            return True
        if self._limits.late == "wait":
            return False
        few = ", ".join(sorted(missing)[:5])
        raise RoundFailed(
            f"round {round}: no update from {few} within {self._limits.round:g} s "
            f"({self.describe(arrived, present)}); raise limits.round, or set limits.late"
        )
