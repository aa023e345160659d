"""Who belongs to a server when clients come and go.

A client joins over the network. That it left is reported by the launcher, just as a base station
tells the server behind it that it has lost a phone. The two can overtake each other, so both carry
the number of the change that caused them (`since`): a join from before the client left is stale.
"""

from collections.abc import Iterable

from contracts.plan import NodeSpec, Plan
from netem.availability import away_at_first


def first_members(spec: NodeSpec, plan: Plan) -> list[str]:
    """Return the children of a server that are there when the first round starts."""
    there = plan.availability
    return [name for name in spec.children if there is None or not away_at_first(there, name)]


class Members:
    """The clients that belong to a server now, in the order in which they joined."""

    def __init__(self, names: Iterable[str]) -> None:
        self._since = dict.fromkeys(names, 0)
        self._left: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._since)

    @property
    def names(self) -> list[str]:
        """Their names, in the order in which they joined."""
        return list(self._since)

    def enter(self, name: str, since: int) -> bool:
        """Add a client; False, and nothing changes, if it left after it sent this join."""
        if since < self._left.get(name, 0):
            return False
        self._since[name] = since
        return True

    def leave(self, name: str, since: int) -> bool:
        """Remove a client; False if it was not a member, or has joined again since it left."""
        self._left[name] = since
        if self._since.get(name, since) >= since:
            return False
        del self._since[name]
        return True
