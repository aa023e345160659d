"""Who hears which cells: clients alone in a cell, and clients where cells overlap."""

from collections.abc import Sequence
from itertools import combinations


def cells_by_client(
    cells: int, alone: int, overlap: int, overlaps: Sequence[tuple[Sequence[int], int]] = ()
) -> list[tuple[int, ...]]:
    """For every client the cells that it hears, from 0; first the one that its data are from.

    First the clients alone in a cell, cell by cell; then `overlap` clients where each two cells
    overlap; then those of `overlaps`, for which (cells, clients) are spelled out. Where cells
    overlap, the same share of the clients comes from each.
    """
    found: list[tuple[int, ...]] = [(cell,) for cell in range(cells) for _ in range(alone)]
    places = [(pair, overlap) for pair in combinations(range(cells), 2)] + list(overlaps)
    for place, clients in places:
        for number in range(clients):
            home = place[number * len(place) // clients]
            found.append((home, *(cell for cell in place if cell != home)))
    return found
