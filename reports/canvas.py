"""What all figures share: how they are made and saved, and the colours of their lines."""

import io
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from reports.replace import replace_bytes

# Okabe and Ito's palette, which colour-blind people can tell apart, without its yellow, which is
# too pale for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
MARKERS = "os^DvPX"


def new_figure(
    width: float,
    height: float,
    pad: float = 0.1,
    hspace: float | None = None,
    wspace: float | None = None,
) -> Figure:
    """A figure of so many inches, drawn without a display."""
    layout = ConstrainedLayoutEngine(w_pad=pad, h_pad=pad, hspace=hspace, wspace=wspace)
    figure = Figure(figsize=(width, height), dpi=150, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Whole or not at all."""
    image = io.BytesIO()
    figure.savefig(image, format="png", facecolor="white")
    replace_bytes(path, image.getvalue())


def plain_frame(axes: Axes) -> None:
    """A pale grid, and no lines where there is no scale."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
