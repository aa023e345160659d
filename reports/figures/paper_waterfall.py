"""The waterfall of one round for a paper: every node's phases, the critical path underlined."""

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from contracts.events import Phase
from reports.figures.accuracy import time_unit
from reports.figures.canvas import new_figure, plain_frame
from reports.figures.colours import PHASE_COLOURS
from reports.records.events import Event
from reports.records.run_records import RunRecords

_MOST_ROWS = 30  # with more nodes, only those on the critical path are drawn
_BAR = 0.7  # of a row's height


def draw_waterfall(records: RunRecords, width: float, round: int | None) -> Figure | None:
    """Draw the given round, or the second one: in the first, connections are still new."""
    plan, paths = records.plan, records.critical_paths
    if plan is None or not paths:
        return None
    number = round if round is not None else sorted(paths)[min(1, len(paths) - 1)]
    if number not in paths:
        return None
    path = paths[number]
    began = path[0].start
    bars = [e for e in records.events if e.round == number and _is_shown(e)]
    busy = {event.node for event in bars}
    on_path = {step.node for step in path if step.phase != Phase.WAIT}
    shown = busy if len(busy) <= _MOST_ROWS else on_path
    rows = {name: at for at, name in enumerate(n.name for n in plan.nodes if n.name in shown)}
    scale, unit = time_unit(path[-1].end - began)
    figure = new_figure(width, 0.8 + 0.13 * len(rows), pad=0.03)
    axes = figure.subplots()
    for event in bars:
        if event.node in rows:
            start, length = (event.start - began) / scale, event.seconds / scale
            axes.barh(rows[event.node], length, _BAR, start, color=PHASE_COLOURS[event.phase])
    for step in path:
        if step.phase != Phase.WAIT and step.node in rows:
            ends = (step.start - began) / scale, (step.end - began) / scale
            axes.hlines(rows[step.node] + 0.45, *ends, color="black", linewidth=1.2)
    axes.set_yticks(list(rows.values()), list(rows), fontsize=6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=min([0.0, *((event.start - began) / scale for event in bars)]))
    axes.set_xlabel(f"time since round {number} began ({unit})")
    axes.tick_params(axis="y", length=0)
    plain_frame(axes)
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)
    phases = [phase for phase in PHASE_COLOURS if any(e.phase == phase for e in bars)]
    keys = [Patch(color=PHASE_COLOURS[phase], label=phase) for phase in phases]
    figure.legend(handles=keys, loc="outside lower center", ncols=4, handlelength=1.0)
    return figure


def _is_shown(event: Event) -> bool:
    known = event.phase in PHASE_COLOURS and event.phase != Phase.WAIT
    return known and event.local_round is not None
