"""Every chart as SVG and PDF for a paper: one column wide, eight points, the same colours."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from reports.comparison.run_labels import run_labels
from reports.figures.accuracy import time_unit
from reports.figures.canvas import COLOURS, MARKERS, new_figure, plain_frame, save_for_print
from reports.figures.colours import PHASE_COLOURS
from reports.figures.paper_waterfall import draw_waterfall
from reports.records.run_records import RunRecords

WIDTH = 3.4  # inches: a column of most papers
STYLE: Any = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.4,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
}
_CROWDED = 40  # with more rounds, a marker for each would hide the curve
_MOST_MARKS = 12
_NAME_LETTERS = 22  # in one line beside a bar


def write_figures(
    directory: Path, runs: Sequence[RunRecords], round: int | None = None
) -> list[str]:
    """Draw every figure that these runs have data for; return the names without endings."""
    with rc_context(STYLE):
        drawn = {
            "accuracy-time": _accuracy(runs, over_time=True),
            "accuracy-rounds": _accuracy(runs, over_time=False),
            "time-shares": _shares(runs),
            "bytes": _bytes(runs),
            **_waterfalls(runs, round),
        }
        found = {name: figure for name, figure in drawn.items() if figure is not None}
        for name, figure in found.items():
            save_for_print(figure, directory / name)
    return list(found)


def _accuracy(runs: Sequence[RunRecords], over_time: bool) -> Figure | None:
    evaluated = [[row for row in run.rounds if row.accuracy is not None] for run in runs]
    if not any(evaluated):
        return None
    longest = max((rows[-1].elapsed_seconds for rows in evaluated if rows), default=0.0)
    scale, unit = time_unit(longest)
    figure = new_figure(WIDTH, 2.2, pad=0.03)
    axes = figure.subplots()
    for place, (rows, name) in enumerate(zip(evaluated, run_labels(runs), strict=True)):
        xs = [row.elapsed_seconds / scale if over_time else row.round for row in rows]
        accuracies = [row.accuracy for row in rows if row.accuracy is not None]
        (line,) = axes.plot(xs, accuracies, label=name)
        line.set(color=COLOURS[place % len(COLOURS)], marker=MARKERS[place % len(MARKERS)])
        line.set(markersize=3, markevery=max(1, len(rows) // _MOST_MARKS))
        if len(rows) > _CROWDED and len(runs) == 1:
            line.set_marker("")
    axes.set_xlabel(f"elapsed time ({unit})" if over_time else "global rounds")
    axes.set_ylabel("test accuracy")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=not over_time))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    plain_frame(axes)
    if len(runs) > 1:
        _legend(figure, axes, 1)
    return figure


def _shares(runs: Sequence[RunRecords]) -> Figure | None:
    """Draw a bar for each run that shows where its elapsed time went."""
    known = [run for run in runs if run.bottleneck]
    if not known:
        return None
    figure = new_figure(WIDTH, 0.85 + 0.32 * len(known), pad=0.03)
    axes = figure.subplots()
    reached = [0.0] * len(known)
    for phase, colour in PHASE_COLOURS.items():
        shares = [run.bottleneck["by_phase"].get(phase, 0.0) for run in known]
        if max(shares) < 0.0005:
            continue
        axes.barh(range(len(known)), shares, left=reached, color=colour, label=phase, height=0.7)
        reached = [a + b for a, b in zip(reached, shares, strict=True)]
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_xlabel("share of the elapsed time")
    _name_rows(axes, run_labels(known) if len(runs) > 1 else [""])
    _legend(figure, axes, 3)
    return figure


def _bytes(runs: Sequence[RunRecords]) -> Figure | None:
    """Draw what each tier's links carried, up and down."""
    names, up, down = [], [], []
    for run, label in zip(runs, run_labels(runs), strict=True):
        totals = run.link_totals
        tiers = {link.name: link.tier for link in run.plan.links if link.tier} if run.plan else {}
        for tier in dict.fromkeys(tiers.values()):
            own = [totals[name] for name, of in tiers.items() if of == tier and name in totals]
            names.append(f"{label}: {tier}" if len(runs) > 1 else str(tier))
            up.append(sum(link.up for link in own) / 1e6)
            down.append(sum(link.down for link in own) / 1e6)
    if not any(up) and not any(down):
        return None
    figure = new_figure(WIDTH, 0.85 + 0.36 * len(names), pad=0.03)
    axes = figure.subplots()
    for shift, values, word in ((-0.19, up, "upload"), (0.19, down, "download")):
        places = [place + shift for place in range(len(names))]
        axes.barh(places, values, height=0.36, color=PHASE_COLOURS[word], label=word)
    axes.set_xlabel("on the wire (MB)")
    _name_rows(axes, names)
    _legend(figure, axes, 2)
    return figure


def _waterfalls(runs: Sequence[RunRecords], round: int | None) -> dict[str, Figure | None]:
    def name(run: RunRecords) -> str:
        return "waterfall" if len(runs) == 1 else f"waterfall-{run.directory.resolve().name}"

    return {name(run): draw_waterfall(run, WIDTH, round) for run in runs}


def _name_rows(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), [fill(name, _NAME_LETTERS) for name in names])
    for text in axes.get_yticklabels():
        text.set(fontsize=7, parse_math=False)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    plain_frame(axes)
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)


def _legend(figure: Figure, axes: Axes, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    legend = figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, handlelength=1.4
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
