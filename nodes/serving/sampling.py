"""Drawing the clients of a round, for methods that train only some of them at a time."""

import random

from contracts.plan import Plan


def drawn_children(plan: Plan, server: str, local_round: int, names: list[str]) -> list[str]:
    """Return who takes part in a local round: everybody, or `clients_per_round` drawn clients.

    The draw depends only on the run's seed, the server's name and the local round, so it repeats
    exactly when the run is repeated. Edges below a cloud are never left out.
    """
    sampled = plan.settings.get("clients_per_round", 0)
    if not 0 < sampled < len(names) or plan.node(names[0]).role != "client":
        return names
    draw = random.Random(f"{plan.seed}/{server}/{local_round}")
    drawn = set(draw.sample(sorted(names), sampled))
    return [name for name in names if name in drawn]
