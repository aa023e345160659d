"""How transfers that meet on a link share it: each gets as much as the others, or all it can use.

This is max-min fairness (Bertsekas and Gallager, Data Networks, 6.5.2): all rates grow together
until a link is full; whoever crosses that one keeps its rate, and the others grow on.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf

Resource = tuple[str, str]  # a link's name, and the direction in which it is crossed

_FULL = 1e-9  # relative: links that fill up within this of each other fill up together


def fair_shares(
    paths: Sequence[Sequence[Resource]], capacity: Mapping[Resource, float]
) -> list[tuple[float, Resource | None]]:
    """Return each transfer's rate, and the link that limits it; None if none on its path does."""
    found: list[tuple[float, Resource | None]] = [(inf, None)] * len(paths)
    left = {r: capacity[r] for path in paths for r in path if r in capacity}
    growing = {number: [r for r in path if r in left] for number, path in enumerate(paths)}
    growing = {number: path for number, path in growing.items() if path}
    while growing:
        crossing = Counter(r for path in growing.values() for r in path)
        level = {r: left[r] / count for r, count in crossing.items()}
        least = min(level.values())
        full = {r for r in level if level[r] <= least * (1 + _FULL)}
        for number, path in list(growing.items()):
            limiting = next((r for r in path if r in full), None)
            if limiting is None:
                continue
            found[number] = least, limiting
            for r in path:
                left[r] = max(0.0, left[r] - least)
            del growing[number]
    return found
