"""How clients walk between random way points, and which cells they hear on the way.

A cell is heard within a radius around its edge server; where none is, the nearest one is heard.
The moments at which a walker hears other cells are computed, not sampled: on a straight line the
borders of disks are roots of a quadratic, and where no disk reaches, the nearest edge server
changes on a bisector.
"""

import heapq
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]

_MOST_DRAWS = 10_000


@dataclass(frozen=True)
class Leg:
    """A straight line that a client (counted from 0) walks between two times."""

    start: float
    end: float
    client: int
    origin: Point
    target: Point


@dataclass(frozen=True)
class CellChange:
    """From this time on a client hears these cells (counted from 0), the nearest first."""

    at: float
    client: int
    heard: tuple[int, ...]
    position: Point


def centres(cells: int, spacing: float) -> list[Point]:
    """Return where the edge servers stand: in rows, every second row shifted by half a spacing."""
    columns = math.ceil(math.sqrt(cells))
    places = (divmod(cell, columns) for cell in range(cells))
    return [
        ((place + row % 2 / 2) * spacing, row * spacing * math.sqrt(3) / 2) for row, place in places
    ]


def cells_heard(position: Point, centres: Sequence[Point], radius: float) -> tuple[int, ...]:
    """Return the cells heard at a position, the nearest first; where none reaches, the nearest."""
    order = _by_distance(position, range(len(centres)), centres)
    reaching = [cell for cell in order if math.dist(position, centres[cell]) <= radius]
    return tuple(reaching or order[:1])


def starting_points(
    homes: Sequence[Sequence[int]], centres: Sequence[Point], radius: float, seed: int
) -> list[Point]:
    """Draw where each client starts: a place where it hears exactly its home cells.

    ValueError when there is no such place.
    """
    return [
        _start(client, home, centres, radius, _draws(seed, client))
        for client, home in enumerate(homes)
    ]


def walk(
    homes: Sequence[Sequence[int]],
    centres: Sequence[Point],
    radius: float,
    speed: float,
    dwell: float,
    seed: int,
) -> Iterator[Leg | CellChange]:
    """Yield every leg and every change of the cells heard, in order of time, without end.

    A leg comes at its start. The timeline (nodes) takes these while a run goes on, and the same
    seed gives the same walk.
    """
    walks = []
    for client, home in enumerate(homes):
        draws = _draws(seed, client)
        origin = _start(client, home, centres, radius, draws)
        points = _way_points(draws, centres, radius)
        walks.append(_followed(_legs(client, origin, points, speed, dwell), home, centres, radius))
    return heapq.merge(*walks, key=lambda step: step.start if isinstance(step, Leg) else step.at)


def _draws(seed: int, client: int) -> random.Random:
    return random.Random(f"{seed}/walk/{client}")


def _start(
    client: int,
    home: Sequence[int],
    centres: Sequence[Point],
    radius: float,
    draws: random.Random,
) -> Point:
    """Draw from where the bounding boxes of the home cells overlap, until the place is right."""
    (xs, ys), wanted = zip(*(centres[cell] for cell in home), strict=True), set(home)
    if max(xs) - min(xs) <= 2 * radius and max(ys) - min(ys) <= 2 * radius:
        for _ in range(_MOST_DRAWS):
            point = (
                draws.uniform(max(xs) - radius, min(xs) + radius),
                draws.uniform(max(ys) - radius, min(ys) + radius),
            )
            if {c for c, at in enumerate(centres) if math.dist(point, at) <= radius} == wanted:
                return point
    named = " and ".join(f"cell{cell + 1}" for cell in sorted(home))
    raise ValueError(f"there is no place for client{client + 1} where it hears {named} alone")


def _way_points(draws: random.Random, centres: Sequence[Point], radius: float) -> Iterator[Point]:
    """Draw points evenly from the area that any cell reaches.

    Where several cells reach, a point counts only when it was drawn for the first of them.
    """
    while True:
        drawn = draws.randrange(len(centres))
        x, y = centres[drawn]
        point = (draws.uniform(x - radius, x + radius), draws.uniform(y - radius, y + radius))
        reaching = (c for c, at in enumerate(centres) if math.dist(point, at) <= radius)
        if next(reaching, None) == drawn:
            yield point


def _legs(
    client: int, origin: Point, points: Iterator[Point], speed: float, dwell: float
) -> Iterator[Leg]:
    """Yield the legs from point to point, with a pause at each; the first starts at time zero."""
    now = 0.0
    for target in points:
        end = now + math.dist(origin, target) / speed
        if end > now:
            yield Leg(now, end, client, origin, target)
            origin, now = target, end + dwell


def _followed(
    legs: Iterator[Leg], home: Sequence[int], centres: Sequence[Point], radius: float
) -> Iterator[Leg | CellChange]:
    """Yield each leg, followed by the changes that happen on it."""
    now_heard = set(home)
    for leg in legs:
        yield leg
        for share, cells in _stretches(leg, centres, radius):
            if cells != now_heard:
                now_heard = cells
                at = leg.start + share * (leg.end - leg.start)
                position = _along(leg, share)
                nearest_first = tuple(_by_distance(position, sorted(cells), centres))
                yield CellChange(at, leg.client, nearest_first, position)


def _along(leg: Leg, share: float) -> Point:
    (x, y), (to_x, to_y) = leg.origin, leg.target
    return (x + share * (to_x - x), y + share * (to_y - y))


def _by_distance(position: Point, cells: Sequence[int], centres: Sequence[Point]) -> list[int]:
    return sorted(cells, key=lambda cell: math.dist(position, centres[cell]))


def _stretches(
    leg: Leg, centres: Sequence[Point], radius: float
) -> Iterator[tuple[float, set[int]]]:
    """Yield where on a leg each stretch begins on which the same cells are heard, and those cells.

    Where is given as a share of the leg. With d the vector along the leg and o from a centre to
    the leg's origin, the squared distance from the centre at share s is |d|² s² + 2 (o·d) s + |o|².
    """
    (x, y), (to_x, to_y) = leg.origin, leg.target
    way = (to_x - x, to_y - y)
    squared = way[0] ** 2 + way[1] ** 2
    from_centres = [(x - cx, y - cy) for cx, cy in centres]
    slopes = [ox * way[0] + oy * way[1] for ox, oy in from_centres]
    distances = [ox**2 + oy**2 for ox, oy in from_centres]
    inside: dict[int, tuple[float, float]] = {}
    for cell, (slope, distance) in enumerate(zip(slopes, distances, strict=True)):
        discriminant = slope**2 - squared * (distance - radius**2)
        if discriminant > 0:
            half = math.sqrt(discriminant)
            inside[cell] = ((-slope - half) / squared, (-slope + half) / squared)
    borders = {border for crossing in inside.values() for border in crossing if 0 < border < 1}
    for begin, end in pairwise([0.0, *sorted(borders), 1.0]):
        middle = (begin + end) / 2
        reaching = {cell for cell, (into, out) in inside.items() if into < middle < out}
        if reaching:
            yield begin, reaching
        else:
            yield from _nearest(begin, end, slopes, distances)


def _nearest(
    begin: float, end: float, slopes: Sequence[float], distances: Sequence[float]
) -> Iterator[tuple[float, set[int]]]:
    """Yield the nearest cell from `begin` on, and the next one at each bisector before `end`."""
    cells = range(len(slopes))
    here = [distance + 2 * begin * slope for distance, slope in zip(distances, slopes, strict=True)]
    nearest = min(cells, key=lambda cell: (here[cell], slopes[cell]))
    while begin < end:
        yield begin, {nearest}
        nearer = [
            ((distances[cell] - distances[nearest]) / (2 * (slopes[nearest] - slopes[cell])), cell)
            for cell in cells
            if slopes[cell] < slopes[nearest]
        ]
        begin, nearest = min(nearer, key=lambda n: (n[0], slopes[n[1]]), default=(end, nearest))
