"""What the method decided, round by round: decisions.png, from the cloud's aggregations."""

import io
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from reports.events import Event
from reports.replace import replace_bytes

# decision -> child -> (round, value) in the order of rounds
Decisions = dict[str, dict[str, list[tuple[int, float]]]]

_WORDS = {
    "epochs": "local epochs in the next iteration",
    "divergences": "divergence from the global model",
    "angles": "angle to the average update (rad)",
    "smoothed_angles": "smoothed angle (rad)",
    "weights": "weight in the average",
}
# Okabe and Ito's palette, which colour-blind people can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"
_MOST_NAMES = 10  # with more children than that the lines have no names


def decisions(events: Iterable[Event], server: str) -> Decisions:
    """Every figure that this server's method recorded for each of its children."""
    found: Decisions = defaultdict(lambda: defaultdict(list))
    for event in events:
        if event.phase != "aggregate" or event.node != server:
            continue
        for name, values in event.fields.items():
            if _per_child(values):
                for child, value in values.items():
                    found[name][child].append((event.number or event.round, float(value)))
    # i2 comes before i10
    return {
        name: dict(sorted(children.items(), key=lambda item: (len(item[0]), item[0])))
        for name, children in found.items()
    }


def draw_decisions(path: Path, title: str, found: Decisions) -> None:
    """One panel for each kind of decision; nothing when the method decided nothing."""
    if not found:
        return
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    figure = Figure(figsize=(5.5 * len(found), 4.2), dpi=150, layout=layout)
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (name, children) in zip(panels, found.items(), strict=True):
        _draw(axes, _WORDS.get(name, name), children)
    names = list(next(iter(found.values())))
    if len(names) <= _MOST_NAMES:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(names), 7))
    figure.suptitle(title, fontsize=12, parse_math=False)
    image = io.BytesIO()
    figure.savefig(image, format="png", facecolor="white")
    replace_bytes(path, image.getvalue())


def _per_child(values: Any) -> bool:
    return isinstance(values, dict) and all(type(v) in (int, float) for v in values.values())


def _draw(axes: Axes, label: str, children: dict[str, list[tuple[int, float]]]) -> None:
    for index, (child, points) in enumerate(children.items()):
        rounds, values = zip(*points, strict=True)
        axes.plot(
            rounds,
            values,
            label=child,
            color=_COLOURS[index % len(_COLOURS)],
            marker=_MARKERS[index % len(_MARKERS)],
            markersize=4,
            linewidth=1.5,
        )
    axes.set_title(label, fontsize=11)
    axes.set_xlabel("global iteration")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10], integer=True))
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
