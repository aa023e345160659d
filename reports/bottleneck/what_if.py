"""Estimate what the obvious improvements would do to a run's elapsed time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from contracts.events import Phase
from contracts.links import Hop, Shape
from contracts.plan import Plan
from contracts.timeline import LinkChangeEvent
from reports.bottleneck.attribution import Attribution, is_transfer
from reports.bottleneck.replay import Change, Replay
from reports.bottleneck.shared_replay import DISTANCE
from reports.bottleneck.used_links import DOWN, UP
from reports.wording import rate

_WORTH_TRYING = 0.01  # try changes of parts that take at least this share of the time


@dataclass(frozen=True)
class WhatIf:
    """A change, described in words, and the share of the elapsed time that it would save."""

    change: Change
    words: str
    elapsed_seconds: float
    saving: float
    # TCP is irregular (jitter, loss, traces, traffic), nodes come and go, or there are no rounds.
    rough: bool = False

    def row(self) -> dict[str, Any]:
        """Return the entry for summary.json."""
        factors = vars(self.change).items()
        return {
            "place": self.change.place,
            "factors": {key: f for key, f in factors if key != "place" and f != 1.0},
            "words": self.words,
            "elapsed_seconds": round(self.elapsed_seconds, 6),
            "saving": round(self.saving, 4),
            "rough": self.rough,
        }


def what_ifs(attributed: Attribution, replay: Replay, plan: Plan) -> Iterator[WhatIf]:
    """Try twice the rate, half the delay and devices twice as fast, wherever much time is spent."""
    was = replay.elapsed(Change(""))
    beside = {name for flow in plan.traffic for name in (flow.first_link, flow.last_link)}
    erratic = {
        link.place
        for link in plan.links_and_trunks
        for way in (link.up, link.down)
        if way and (way.jitter or way.loss or way.varies or link.name in beside)
    }
    rough = plan.moves or replay.without_rounds
    for change, words in _changes(attributed, plan):
        elapsed = replay.elapsed(change)
        saving = 1 - elapsed / was if was else 0.0
        yield WhatIf(change, words, elapsed, saving, rough or change.place in erratic)


def _changes(attributed: Attribution, plan: Plan) -> Iterator[tuple[Change, str]]:
    worth = [p for p in attributed.parts.values() if p.seconds > _WORTH_TRYING * attributed.seconds]
    for place in dict.fromkeys(part.place for part in worth if is_transfer(part)):
        ways = {part.phase for part in worth if part.place == place}
        yield from _link_changes(place, ways, plan)
    for part in worth:
        if part.phase == Phase.COMPUTE:
            yield Change(part.place, speed=2.0), "on devices twice as fast"
        elif part.phase == Phase.AGGREGATE:
            yield Change(part.place, memory=2.0), "with memory twice as fast"


def _link_changes(tier: str, ways: set[str], plan: Plan) -> Iterator[tuple[Change, str]]:
    if tier == DISTANCE:
        yield Change(tier, delay=0.5), "with half of all delays"
        return
    links = [link for link in plan.links_and_trunks if link.place == tier]
    hops = [Hop(link, leaves_host=link.tier is not None) for link in links]
    changed = {n for e in plan.timeline if isinstance(e, LinkChangeEvent) for n in e.links}
    varies = any(link.name in changed for link in links)
    up = {_marked(hop.to_server, varies) for hop in hops if hop.to_server}
    down = {_marked(hop.from_server, varies) for hop in hops if hop.from_server}
    is_trunk = links[0].is_trunk  # updates may cross one in both directions
    if UP in ways and not is_trunk and (words := _twice(up)):
        yield Change(tier, rate_up=2.0), f"at {words}"
    if DOWN in ways and not is_trunk and (words := _twice(down)):
        yield Change(tier, rate_down=2.0), f"at {words}"
    if (is_trunk or ways >= {UP, DOWN}) and (words := _twice(up | down)):
        yield Change(tier, rate_up=2.0, rate_down=2.0), f"at {words} both ways"
    if links[0].shared or plan.trunks:
        return  # its delay is not booked there
    delays = {shape.delay for shape in up | down}
    if max(delays, default=0.0) > 0:
        one = len(delays) == 1 and not any(shape.varies for shape in up | down)
        half = f"{500 * delays.pop():g} ms of delay each way" if one else "half the delay"
        yield Change(tier, delay=0.5), f"with {half}"


def _marked(shape: Shape, varies: bool) -> Shape:
    """Mark a shape that the timeline changes: its numbers hold only for a while."""
    return replace(shape, varies=True) if varies else shape


def _twice(shapes: set[Shape]) -> str:
    """Describe twice the rate; empty where the rate is unlimited."""
    rates = {shape.rate for shape in shapes}
    if None in rates or not rates:
        return ""
    one = len(rates) == 1 and not any(shape.varies for shape in shapes)
    return rate(2 * (rates.pop() or 0.0)) if one else "twice the rate"
