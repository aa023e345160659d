"""dissimilarity.csv and .png: how far apart gradients were, if a run measured it (FSL, Fig. 9)."""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from matplotlib.ticker import MaxNLocator

from contracts.evaluations import DISSIMILARITY
from contracts.run_directory import RunDirectory
from contracts.tables import DISSIMILARITY_COLUMNS
from contracts.tables import DissimilarityRow as Row
from reports.figures.canvas import COLOURS, MARKERS, new_figure, plain_frame, save
from reports.records.atomic_files import write_text_atomically
from reports.records.evaluations import EvaluationLine

_NAMES = {"xi_squared": "ξ²: the server's from all clients'", "g_squared": "G²: a client's, mean"}


def report_dissimilarity(
    files: RunDirectory,
    name: str,
    evaluations: Iterable[EvaluationLine],
    elapsed: Mapping[int, int],
) -> None:
    """Write the table and the figure if anything was measured; `elapsed` is in microseconds."""
    rows = dissimilarity_rows(evaluations, elapsed)
    if rows:
        _write(files.dissimilarity, rows)
        _draw(files.dissimilarity_figure, name, rows)


def dissimilarity_rows(
    evaluations: Iterable[EvaluationLine], elapsed: Mapping[int, int]
) -> list[Row]:
    """Return the measurements in order of rounds."""
    found = [
        Row(
            line["round"],
            elapsed[line["round"]] / 1e6 if line["round"] in elapsed else None,
            line.get("xi_squared"),
            line.get("g_squared"),
        )
        for line in evaluations
        if line.get("key") == DISSIMILARITY
    ]
    return sorted(found, key=lambda row: row.round)


def _write(path: Path, rows: list[Row]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(DISSIMILARITY_COLUMNS)
    writer.writerows(rows)
    write_text_atomically(path, text.getvalue())


def _draw(path: Path, name: str, rows: list[Row]) -> None:
    """Draw them over rounds, on a logarithmic axis because they span decades."""
    figure = new_figure(7, 4)
    axes = figure.subplots()
    plain_frame(axes)
    for (field, label), colour, marker in zip(_NAMES.items(), COLOURS, MARKERS, strict=False):
        values = [(row.round, getattr(row, field)) for row in rows]
        known = [(round, value) for round, value in values if value]  # 0 has no logarithm
        if known:
            rounds, heights = zip(*known, strict=True)
            axes.semilogy(rounds, heights, color=colour, marker=marker, ms=5, label=label)
            axes.legend(frameon=False)
    axes.set_xlabel("global rounds")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("squared distance of gradients")
    axes.set_title(f"{name}: dissimilarity of data, seen at the global model", parse_math=False)
    save(figure, path)
