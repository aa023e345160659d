"""What all figures share: how they are created and saved, and the markers of their lines."""

import io
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from reports.figures.colours import COLOURS
from reports.records.atomic_files import write_bytes_atomically

__all__ = ["COLOURS", "MARKERS", "new_figure", "plain_frame", "save", "save_for_print"]

MARKERS = "os^DvPX"


def new_figure(
    width: float,
    height: float,
    pad: float = 0.1,
    hspace: float | None = None,
    wspace: float | None = None,
) -> Figure:
    """Create a figure of this size in inches, without a display."""
    layout = ConstrainedLayoutEngine(w_pad=pad, h_pad=pad, hspace=hspace, wspace=wspace)
    figure = Figure(figsize=(width, height), dpi=150, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Save as PNG, atomically."""
    image = io.BytesIO()
    figure.savefig(image, format="png", facecolor="white")
    write_bytes_atomically(path, image.getvalue())


def save_for_print(figure: Figure, path: Path) -> None:
    """Save as SVG and PDF with selectable text; equal figures give equal bytes."""
    for ending, metadata in (("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
        drawn = io.BytesIO()
        settings: Any = {"svg.fonttype": "none", "svg.hashsalt": path.name, "pdf.fonttype": 42}
        with rc_context(settings):
            figure.savefig(drawn, format=ending, metadata=metadata)
        write_bytes_atomically(path.with_name(f"{path.name}.{ending}"), drawn.getvalue())


def plain_frame(axes: Axes) -> None:
    """Add a pale grid, and remove the frame lines that carry no scale."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
