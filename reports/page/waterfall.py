"""Every phase of every node for the report's waterfall, compactly encoded as whole numbers."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from contracts.events import Phase
from reports.bottleneck.critical_path import Step
from reports.records.events import Event
from reports.records.run_records import RunRecords

PHASES = (Phase.DOWNLOAD, Phase.COMPUTE, Phase.UPLOAD, Phase.AGGREGATE, Phase.SUPPLY, Phase.WAIT)
_SHOWN = PHASES[:-1]  # what is left blank was waiting


def waterfall(records: RunRecords, nodes: dict[str, int], most_bars: int) -> dict[str, Any]:
    """Return the bars and the critical path of each round.

    A bar is node, phase, start, length and peer (-1 for none), with times in microseconds since
    the round's start. With more than `most_bars` bars, some rounds are left out.
    """
    bars: dict[int, list[Event]] = defaultdict(list)
    for event in records.events:
        if event.phase in _SHOWN and event.local_round is not None and event.node in nodes:
            bars[event.round].append(event)
    ends = {event.round: event for event in records.events if event.phase == Phase.ROUND}
    kept = _kept(sorted(bars), sum(map(len, bars.values())), most_bars)
    rounds = []
    for number in kept:
        end = ends.get(number)
        start = end.start if end else min(event.start for event in bars[number])
        length = None if end is None else _micro(end.end - start)
        phases = [_bar(event, start, nodes) for event in bars[number]]
        path = [_step(step, start, nodes) for step in records.critical_paths.get(number, ())]
        rounds.append([number, _micro(start), length, _flat(phases), _flat(path)])
    return {"phases": PHASES, "rounds": rounds, "of": len(bars)}


def _kept(rounds: list[int], bars: int, most: int) -> list[int]:
    """Keep the first and last rounds and evenly spaced ones between."""
    if bars <= most or len(rounds) < 3:
        return rounds
    room = max(2, most * len(rounds) // bars)
    stride = (len(rounds) - 1) / (room - 1)
    return sorted({rounds[round(place * stride)] for place in range(room)})


def _bar(event: Event, start: float, nodes: dict[str, int]) -> tuple[int, ...]:
    place, phase = nodes[event.node], PHASES.index(event.phase)
    times = _micro(event.start - start), _micro(event.seconds)
    return place, phase, *times, nodes.get(event.peer or "", -1)


def _step(step: Step, start: float, nodes: dict[str, int]) -> tuple[int, ...]:
    times = _micro(step.start - start), _micro(step.end - step.start)
    return nodes.get(step.node, -1), PHASES.index(step.phase), *times


def _flat(rows: Iterable[Sequence[int]]) -> list[int]:
    return [number for row in rows for number in row]


def _micro(seconds: float) -> int:
    return round(seconds * 1e6)
