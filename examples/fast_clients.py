"""A selection rule: clients whose updates came soon are taken again, and now and then others.

Of `clients_per_round`, a share `explore` is left to the seeded draw, so that everybody is tried
some time and a client that has become faster is noticed. The others are those that answered in
the shortest time when they last took part.

    ./metronome run --plugin examples/fast_clients.py --set protocol.name=fast-clients \\
        --set protocol.clients_per_round=2
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import ceil, inf

from protocols import fedavg
from protocols.base import Candidates

PROTOCOLS = {"fast-clients": __name__}


@dataclass(frozen=True)
class Settings(fedavg.Settings):
    """FedAvg's keys in [protocol], and the share of each round that is left to chance."""

    explore: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.explore <= 1:
            raise ValueError("explore must be from 0 to 1")


class Server(fedavg.Server):
    """FedAvg, but for who takes part."""

    def select(self, candidates: Candidates) -> Collection[str]:
        """Return the draw until everybody was tried, then the fastest and some drawn ones."""
        wanted = len(candidates.drawn)
        by_chance = candidates.drawn[: ceil(self.settings.explore * wanted)]
        never = [one.name for one in candidates.present if not one.rounds]
        known = sorted(
            (one for one in candidates.present if one.rounds),
            key=lambda one: (inf if one.seconds is None else one.seconds, one.name),
        )
        order = [*never, *by_chance, *(one.name for one in known)]
        return list(dict.fromkeys(order))[:wanted]


Client = fedavg.Client
