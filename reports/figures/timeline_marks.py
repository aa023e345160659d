"""Mark what happened to the network along an axis of elapsed time."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from string import ascii_lowercase

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from contracts.events import Phase
from reports.figures.canvas import COLOURS
from reports.records.events import Event

_HANDOVER, _OUTAGE, _CHANGE = COLOURS[3], "0.5", "0.3"
_WORDS: dict[str, tuple[str, str]] = {
    Phase.CRASH: ("crashes", "crash"),
    Phase.RESTART: ("restarts", "restart"),
}
_STYLES: dict[str, str] = {Phase.CRASH: "-", Phase.RESTART: "--", Phase.LINK: ":"}
_MOST_LETTERS = 8  # with more moments, the lines are not lettered
_MOST_NAMES = 2  # listed of what changed at the same moment
_CROWDED = 60  # with more handovers, the ticks become paler
_LETTER_WIDTH = 0.022  # share of the axis, so that letters do not overlap


@dataclass(frozen=True)
class TimelineMarks:
    """Times in seconds; a change is a crash, a restart or a link with a new profile."""

    handovers: tuple[float, ...]
    outages: tuple[tuple[float, float], ...]
    changes: dict[tuple[float, str], list[Event]]  # by moment and phase

    def __bool__(self) -> bool:
        return bool(self.handovers or self.outages or self.changes)


def timeline_marks(events: Iterable[Event], until: float) -> TimelineMarks:
    """Return what began up to that time; an uneventful run has nothing."""
    moves, outages = [], []
    changes: dict[tuple[float, str], list[Event]] = defaultdict(list)
    for event in events:
        if event.start > until:
            continue
        if event.phase == Phase.HANDOVER:
            moves.append(event.start)
        elif event.phase == Phase.OUTAGE:
            outages.append((event.start, event.end))
        elif event.phase in _STYLES:
            changes[event.start, event.phase].append(event)
    return TimelineMarks(tuple(moves), tuple(outages), dict(changes))


def draw_timeline_marks(figure: Figure, axes: Axes, found: TimelineMarks, scale: float) -> None:
    """Draw ticks, spans and lines behind the curve, and a legend below the figure."""
    if not found:
        return
    handles = [
        *_draw_handovers(axes, found, scale),
        *_draw_outages(axes, found, scale),
        *_draw_changes(axes, found, scale),
    ]
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, min(5, len(handles), 150 // (longest + 8)))
    figure.set_figheight(figure.get_figheight() + 0.3 + 0.2 * ceil(len(handles) / columns))
    legend = figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _draw_handovers(axes: Axes, found: TimelineMarks, scale: float) -> list[Artist]:
    if not found.handovers:
        return []
    times = [seconds / scale for seconds in found.handovers]
    # At the bottom, where there is no curve: even guessing is more accurate than that.
    _draw_ticks(axes, times, _HANDOVER, 0.0)
    label = "handover" if len(times) == 1 else f"{len(times)} handovers"
    return [_tick(_HANDOVER, label)]


def _draw_outages(axes: Axes, found: TimelineMarks, scale: float) -> list[Artist]:
    for start, end in found.outages:
        axes.axvspan(start / scale, end / scale, color=_OUTAGE, alpha=0.2, linewidth=0, zorder=0)
    count = len(found.outages)
    label = "outage" if count == 1 else f"{count} outages"
    return [Patch(color=_OUTAGE, alpha=0.2, linewidth=0, label=label)] if count else []


def _draw_changes(axes: Axes, found: TimelineMarks, scale: float) -> list[Artist]:
    times = [moment / scale for moment, _ in found.changes]
    if len(times) > _MOST_LETTERS:
        _draw_ticks(axes, times, _CHANGE, 0.97)
        return [_tick(_CHANGE, f"{len(times)} crashes, restarts and link changes (at the top)")]
    _draw_letters(axes, [time / axes.get_xlim()[1] for time in times])
    lines = [axes.axvline(time, color=_CHANGE, linewidth=1, zorder=1) for time in times]
    for line, letter, events in zip(lines, ascii_lowercase, found.changes.values(), strict=False):
        line.set(linestyle=_STYLES[events[0].phase], label=f"{letter}: {_words(events)}")
    return list(lines)


def _draw_ticks(axes: Axes, times: list[float], colour: str, low: float) -> None:
    """Draw a row of ticks at this height of the axes, pale if there are many."""
    pale = max(0.15, min(1.0, _CROWDED / len(times)))
    lines = axes.vlines(times, low, low + 0.03, color=colour, alpha=pale, linewidth=1.2)
    lines.set(transform=axes.get_xaxis_transform(), zorder=1)


def _tick(colour: str, label: str) -> Line2D:
    tick = Line2D([], [], color=colour, marker="|", linestyle="none", label=label)
    tick.set(markersize=9, markeredgewidth=1.2)
    return tick


def _draw_letters(axes: Axes, places: list[float]) -> None:
    """Draw letters above the lines, moved apart where lines are close."""
    wide = _LETTER_WIDTH
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + wide)
    for i in reversed(range(len(places))):
        places[i] = min(places[i], 1.0 - wide * (len(places) - 1 - i))
    for letter, place in zip(ascii_lowercase, places, strict=False):
        axes.text(place, 1.01, letter, ha="center", fontsize=9, transform=axes.transAxes)


def _words(events: list[Event]) -> str:
    phase, names = events[0].phase, sorted({event.node for event in events})
    few = ", ".join(names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        few += f" and {len(names) - _MOST_NAMES} more"
    if phase in _WORDS:
        return f"{few} {_WORDS[phase][len(names) > 1]}"
    profiles = {event.fields.get("profile") for event in events}
    profile = profiles.pop() if len(profiles) == 1 else None
    return f"{few} now {profile}" if profile else f"{few} changed"
