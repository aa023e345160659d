"""Who takes part: the seeded draw, or whom the method selects by what its server knows."""

from dataclasses import dataclass

from contracts.messages import LOSS
from contracts.plan import Plan
from nodes.recorder import now
from nodes.serving.late_updates import RoundFailed
from protocols.base import Candidate, Candidates, Package, Server


@dataclass
class _Past:
    """What a server remembers of a client."""

    sent: float = 0.0  # when it was sent its last model
    rounds: int = 0
    seconds: float | None = None
    loss: float | None = None


class Participation:
    """Asks the method who takes part, and remembers what it may want to know.

    A restarted server knows nothing of the rounds before, unless the method has kept it.
    """

    def __init__(self, method: Server, plan: Plan, server: str) -> None:
        self._method, self._plan, self._server = method, plan, server
        self._asks = type(method).select is not Server.select
        self._past: dict[str, _Past] = {}
        self._begun: float | None = None

    def chosen(self, local_round: int, names: list[str], drawn: list[str]) -> list[str]:
        """Return who of these takes part now, given whom the seeded draw would take."""
        if not self._asks or not drawn or self._plan.node(names[0]).role != "client":
            return drawn
        self._begun = now() if self._begun is None else self._begun
        present = tuple(map(self._candidate, names))
        clock = now() - self._begun
        picked = set(self._method.select(Candidates(local_round, clock, present, tuple(drawn))))
        strangers = sorted(picked.difference(names))
        if strangers or not picked:
            who = strangers[0] if strangers else "nobody"
            raise RoundFailed(
                f"{self._plan.protocol} selected {who} for local round {local_round} of"
                f" {self._server}; it must select some of the {len(names)} clients that are there"
            )
        return [name for name in names if name in picked]

    def sent(self, name: str) -> None:
        """Remember that a client is sent a model now."""
        self._past.setdefault(name, _Past()).sent = now()

    def arrived(self, name: str, moment: float, package: Package) -> None:
        """Remember when a client's update came, and what it said of its training."""
        past = self._past.setdefault(name, _Past())
        loss = package.meta.get(LOSS)
        past.rounds, past.seconds = past.rounds + 1, moment - past.sent
        past.loss = float(loss) if isinstance(loss, int | float) else None

    def _candidate(self, name: str) -> Candidate:
        past = self._past.get(name, _Past())
        samples = self._plan.node(name).samples
        return Candidate(name, samples, past.rounds, past.seconds, past.loss)
