"""data.png: how many samples of each class every client has (FedRL, Fig. 3), for any scenario.

Classes run upwards and clients to the right; darker squares mean more samples, and a square without
colour means none. The bars above show each client's total.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator

from reports.figures.canvas import COLOURS, new_figure, plain_frame, save
from reports.records.holdings import Holdings

_MOST_NUMBERS = 20  # with more clients or classes, the squares are too small for numbers
_SQUARE, _WIDEST, _HIGHEST = 0.42, 13.0, 8.0  # inches
# The scale does not start at white: a single sample must look different from none.
_PALE_TO_DARK = LinearSegmentedColormap.from_list("samples", ["#D6E6F2", COLOURS[0], "#002B45"])


def draw_data(path: Path, title: str, held: Holdings) -> None:
    """Draw the grid of clients and classes, and the bars above it."""
    clients, classes = held.counts.shape
    width = min(_WIDEST, max(5.0, 1.8 + _SQUARE * clients))
    height = min(_HIGHEST, max(2.2, _SQUARE * classes))
    figure = new_figure(width, height + 2.2, pad=0.05, hspace=0.02)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.2, height))
    _draw_totals(above, held.counts.sum(1))
    shown = np.ma.masked_equal(held.counts.T, 0)
    image = below.imshow(shown, cmap=_PALE_TO_DARK, vmin=0, aspect="auto", origin="lower")
    figure.colorbar(image, ax=below, label="samples", pad=0.01, fraction=0.05)
    if max(clients, classes) <= _MOST_NUMBERS:
        _write_numbers(below, held.counts)
    below.set(xlabel="client", ylabel="class")
    names = [name.removeprefix("client") for name in held.clients]
    step = _step(clients)
    below.set_xticks(range(step - 1, clients, step), names[step - 1 :: step])
    below.set_yticks(range(0, classes, _step(classes)))
    below.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=12, parse_math=False)
    save(figure, path)


def _draw_totals(axes: Axes, totals: np.ndarray) -> None:
    axes.bar(range(len(totals)), totals, width=0.8, color="0.45")
    plain_frame(axes)
    axes.grid(False, axis="x")
    axes.set_axisbelow(True)
    axes.set_ylabel("in all")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
    axes.tick_params(axis="x", bottom=False, labelbottom=False)
    axes.margins(x=0)


def _write_numbers(axes: Axes, counts: np.ndarray) -> None:
    dark = counts.max() * 0.35
    for (client, number), samples in np.ndenumerate(counts):
        if samples:
            colour = "white" if samples > dark else "black"
            axes.text(
                client, number, str(samples), ha="center", va="center", fontsize=7, color=colour
            )


def _step(count: int) -> int:
    """Return the distance between labels that leaves about twenty of them, at round numbers."""
    return next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if count <= 22 * step)
