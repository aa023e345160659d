"""Where the clients were: map.png for walking clients, membership.png for all that moved."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import dist
from pathlib import Path
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from contracts.events import Phase
from contracts.plan import Plan
from netem.mobility import centres
from reports.figures.accuracy import time_unit
from reports.figures.canvas import COLOURS, new_figure, plain_frame, save
from reports.records.events import Event
from reports.records.handovers import CompletedHandover
from reports.records.membership import ServersInRange
from reports.wording import duration

Point = tuple[float, float]

_MOST_ROWS = 40
_OPEN_ENDED = (Phase.LEG, Phase.OUTAGE)  # phases that may end after the run
_BAR = 0.78  # of a row's height
_NOTES = {  # the markers in a client's row and their labels
    Phase.ABANDONED: ("X", "update abandoned"),
    Phase.RESENT: ("^", "update sent again"),
    Phase.CRASH: ("s", "crash"),
    Phase.RESTART: ("o", "restart"),
}


def draw_map(
    path: Path, title: str, plan: Plan, events: Sequence[Event], moves: Sequence[CompletedHandover]
) -> None:
    """Draw the cells from above and every client's path, in the colour of its home cell."""
    if plan.walk is None or plan.cells is None:
        return
    edges, radius = plan.cells.edges, plan.walk.radius
    places = centres(len(edges), plan.walk.spacing)
    end = _run_end(events)
    paths = _paths(events, end)
    homes = {node.name: plan.walk.homes[node.index][0] for node in plan.nodes if node.index >= 0}
    wide, high = (max(c) - min(c) + 2.1 * radius for c in zip(*places, strict=True))
    figure = new_figure(8, min(11, max(4.5, 8 * high / wide + 0.6)))
    axes = figure.subplots()
    for place, (edge, centre) in enumerate(zip(edges, places, strict=True)):
        _draw_cell(axes, edge, centre, radius, cell_colour(place))
    _draw_paths(axes, paths, homes, wide)
    crossed = [move.position for move in moves if move.position]
    handles = _draw_points(axes, paths, homes, crossed)
    axes.set(xlabel="metres", ylabel="metres")
    axes.set_aspect("equal")
    plain_frame(axes)
    axes.set_axisbelow(True)
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    who = "1 client walks" if len(paths) == 1 else f"{len(paths)} clients walk"
    how = f"{who} at {plan.walk.speed:g} m/s for {duration(end)}"
    figure.suptitle(f"{title}\n{how}", fontsize=12, parse_math=False)
    save(figure, path)


def draw_membership(
    path: Path, title: str, plan: Plan, events: Sequence[Event], in_range: ServersInRange
) -> None:
    """Draw a row for each client that moved: the cells it heard, side by side if several."""
    shown, end = in_range.moved_clients[:_MOST_ROWS], _run_end(events)
    scale, unit = time_unit(end)
    edges = plan.cells.edges if plan.cells else ()
    colours = {edge: cell_colour(place) for place, edge in enumerate(edges)}
    figure = new_figure(11, 2.2 + 0.24 * len(shown))
    axes = figure.subplots()
    axes.set_xlim(0, end / scale or 1.0)
    _draw_bars(axes, in_range, shown, colours, scale)
    handles: list[Artist] = [Patch(color=colour, label=edge) for edge, colour in colours.items()]
    handles += _draw_notes(axes, events, shown, scale)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_yticks(range(len(shown)), shown, fontsize=8)
    axes.set_xlabel(f"elapsed time ({unit})")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, steps=[1, 2, 5, 10]))
    plain_frame(axes)
    axes.grid(visible=False, axis="y")
    left_out = len(in_range.moved_clients) - len(shown)
    more = f"; {left_out} more that moved are not shown" if left_out else ""
    what = f"the cells that clients hear{more}"
    figure.suptitle(f"{title}\n{what}", fontsize=12, parse_math=False)
    columns = min(8, len(handles))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, fontsize=9, frameon=False
    )
    save(figure, path)


def cell_colour(place: int) -> str:
    """Return a colour for each cell, paler from the eighth on."""
    white = min(0.75, place // len(COLOURS) * 0.45)
    red, green, blue = (white + (1 - white) * c for c in to_rgb(COLOURS[place % len(COLOURS)]))
    return to_hex((red, green, blue))


def _run_end(events: Iterable[Event]) -> float:
    """Return when everything that really happened was over; plans may reach further."""
    return max((event.end for event in events if event.phase not in _OPEN_ENDED), default=0.0)


def _paths(events: Iterable[Event], end: float) -> dict[str, list[Point]]:
    """Return the corners of each client's path and its last position; events in order of time."""
    found: dict[str, list[Point]] = {}
    for leg in events:
        if leg.phase != Phase.LEG:
            continue
        (x, y), (to_x, to_y) = leg.fields["from"], leg.fields["to"]
        path = found.setdefault(leg.node, [(x, y)])
        if leg.start < end:
            share = min(1.0, (end - leg.start) / leg.seconds) if leg.seconds > 0 else 1.0
            path.append((x + share * (to_x - x), y + share * (to_y - y)))
    return found


def _draw_cell(axes: Axes, edge: str, centre: Point, radius: float, colour: str) -> None:
    axes.add_patch(Circle(centre, radius, facecolor=colour, alpha=0.06, zorder=0))
    axes.add_patch(Circle(centre, radius, fill=False, edgecolor=colour, linewidth=2, zorder=1.5))
    axes.plot(*centre, marker="^", markersize=9, color=colour, markeredgecolor="white", zorder=5)
    axes.annotate(
        edge,
        centre,
        xytext=(0, 7),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontweight="bold",
        color=colour,
        zorder=6,
        path_effects=[withStroke(linewidth=3, foreground="white")],
    )


def _draw_paths(
    axes: Axes, paths: dict[str, list[Point]], homes: dict[str, int], wide: float
) -> None:
    """Draw the paths, paler the more was walked."""
    walked = sum(dist(a, b) for p in paths.values() for a, b in pairwise(p))
    pale = max(0.2, min(0.8, 25 * wide / walked)) if walked else 0.8
    colours = [cell_colour(homes.get(client, 0)) for client in paths]
    width = 0.5 + 0.8 * pale
    lines = LineCollection(list(paths.values()), colors=colours, linewidths=width, alpha=pale)
    axes.add_collection(lines)


def _draw_points(
    axes: Axes, paths: dict[str, list[Point]], homes: dict[str, int], crossed: list[Point]
) -> list[Artist]:
    """Draw starting points and places of handovers; return the legend's entries."""
    size = 36 if len(paths) <= 40 else 14
    starts = [path[0] for path in paths.values()]
    colours = [cell_colour(homes.get(client, 0)) for client in paths]
    if starts:
        xs, ys = zip(*starts, strict=True)
        dots = axes.scatter(xs, ys, s=size, facecolors="white", edgecolors=colours, zorder=4)
        dots.set_linewidth(1.2)
    if crossed:
        dot = max(3.0, min(18.0, 2000 / len(crossed)))
        xs, ys = zip(*crossed, strict=True)
        axes.scatter(xs, ys, s=dot, color="0.25", linewidths=0, zorder=3)
    return [
        Line2D([], [], color="0.4", label="way (colour: the client's home cell)"),
        Line2D([], [], **_dot("white"), label="start"),
        Line2D([], [], **_dot("0.25"), label=f"handover ({len(crossed)})"),
    ]


def _dot(face: str) -> dict[str, Any]:
    return {"marker": "o", "markerfacecolor": face, "color": "0.25", "linestyle": "none"}


def _draw_bars(
    axes: Axes, in_range: ServersInRange, shown: list[str], colours: dict[str, str], scale: float
) -> None:
    """Draw a bar for each interval, divided among the cells heard in it."""
    corners, faces, right = [], [], axes.get_xlim()[1]
    for row, client in enumerate(shown):
        for interval in in_range.intervals(client):
            start, stop = max(0.0, interval.start / scale), min(right, interval.end / scale)
            heard = [edge for edge in colours if edge in interval.edges]
            for place, edge in enumerate(heard if start < stop else ()):
                top, bottom = (row + _BAR * ((place + i) / len(heard) - 0.5) for i in (0, 1))
                corners.append([(start, top), (stop, top), (stop, bottom), (start, bottom)])
                faces.append(colours[edge])
    axes.add_collection(PolyCollection(corners, facecolors=faces, linewidths=0))


def _draw_notes(
    axes: Axes, events: Sequence[Event], shown: list[str], scale: float
) -> list[Artist]:
    """Draw markers in the clients' rows; return the legend's entries."""
    handles: list[Artist] = []
    for phase, (marker, label) in _NOTES.items():
        found = [e for e in events if e.phase == phase and e.node in shown]
        if found:
            times, rows = [e.start / scale for e in found], [shown.index(e.node) for e in found]
            (line,) = axes.plot(times, rows, color="white", linestyle="none", label=label)
            line.set(marker=marker, markersize=7, markeredgecolor="black", zorder=3)
            handles.append(line)
    return handles
