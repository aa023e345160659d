"""decisions.png: what the method decided in each round, from the top server's aggregations."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeGuard

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from contracts.events import Phase
from reports.figures.canvas import COLOURS, MARKERS, new_figure, plain_frame, save
from reports.records.events import Event

# decision -> child -> (round, value) in the order of rounds
Decisions = dict[str, dict[str, list[tuple[int, float]]]]

DECISION_LABELS = {
    "epochs": "local epochs in the next round",
    "divergences": "divergence from the global model",
    "angles": "angle to the average update (rad)",
    "smoothed_angles": "smoothed angle (rad)",
    "weights": "weight in the average",
}
_MOST_NAMES = 10  # with more children, the lines are not labelled


def decisions(events: Iterable[Event], server: str) -> Decisions:
    """Return every number that this server's method recorded for each of its children."""
    found: Decisions = defaultdict(lambda: defaultdict(list))
    for event in events:
        if event.phase != Phase.AGGREGATE or event.node != server:
            continue
        for name, values in event.fields.items():
            if _per_child(values):
                for child, value in values.items():
                    found[name][child].append((event.local_round or event.round, float(value)))
    # inst2 comes before inst10
    return {
        name: dict(sorted(children.items(), key=lambda item: (len(item[0]), item[0])))
        for name, children in found.items()
    }


def draw_decisions(path: Path, title: str, found: Decisions) -> None:
    """Draw one panel for each kind of decision; nothing if there are none."""
    if not found:
        return
    figure = new_figure(5.5 * len(found), 4.2)
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (name, children) in zip(panels, found.items(), strict=True):
        _draw(axes, DECISION_LABELS.get(name, name), children)
    names = list(next(iter(found.values())))
    if len(names) <= _MOST_NAMES:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(names), 7))
    figure.suptitle(title, fontsize=12, parse_math=False)
    save(figure, path)


def _per_child(values: Any) -> TypeGuard[dict[str, float]]:
    return isinstance(values, dict) and all(type(v) in (int, float) for v in values.values())


def _draw(axes: Axes, label: str, children: dict[str, list[tuple[int, float]]]) -> None:
    for index, (child, points) in enumerate(children.items()):
        rounds, values = zip(*points, strict=True)
        axes.plot(
            rounds,
            values,
            label=child,
            color=COLOURS[index % len(COLOURS)],
            marker=MARKERS[index % len(MARKERS)],
            markersize=4,
            linewidth=1.5,
        )
    axes.set_title(label, fontsize=11)
    axes.set_xlabel("global round")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10], integer=True))
    axes.set_ylim(bottom=0)
    plain_frame(axes)
