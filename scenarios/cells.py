"""Places clients in cells: some inside one cell, some where several cells overlap."""

from collections.abc import Sequence
from itertools import combinations


def cells_by_client(
    cells: int, alone: int, overlap: int, overlaps: Sequence[tuple[Sequence[int], int]] = ()
) -> list[tuple[int, ...]]:
    """Return, for every client, the cells (numbered from 0) whose edge server it can reach.

    The first of a client's cells is its home: the cell that its data come from. Clients are listed
    in this order: `alone` clients in each cell, cell by cell; `overlap` clients where each two
    cells overlap; then those of `overlaps`, given as (cells, number of clients). The clients of an
    overlap are divided evenly among its cells as homes.
    """
    found: list[tuple[int, ...]] = [(cell,) for cell in range(cells) for _ in range(alone)]
    areas = [(pair, overlap) for pair in combinations(range(cells), 2)] + list(overlaps)
    for area, clients in areas:
        for number in range(clients):
            home = area[number * len(area) // clients]
            found.append((home, *(cell for cell in area if cell != home)))
    return found
