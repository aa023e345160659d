"""One sentence that says what took most of a run's time, and what would help."""

from collections.abc import Iterable, Mapping
from statistics import fmean

from contracts.events import Phase
from contracts.plan import Plan
from reports.bottleneck.attribution import (
    BOTH_DIRECTIONS,
    WAIT,
    Attribution,
    Part,
    phase_or_both_directions,
)
from reports.bottleneck.replay import Change
from reports.bottleneck.shared_words import shared_words
from reports.bottleneck.used_links import DOWN, UP
from reports.bottleneck.what_if import WhatIf

_DOMINANT = 0.6  # a node is named if it has this share of a part's time ...
_SLOWER = 1.1  # ... and usually takes this many times as long as the others

Usual = Mapping[tuple[str, str], Mapping[str, float]]  # see mean_seconds_by_node


def bottleneck_sentence(
    attributed: Attribution,
    tried: Iterable[WhatIf],
    usual: Usual,
    plan: Plan,
    at_once: Mapping[tuple[str, str], int],
) -> str:
    """Return, for example: 61 % of the time is inst3's uplink to the cloud; at 40 Mbit/s ...

    `at_once` is how many transfers a shared link limited together at most, by place and direction.
    """
    part = _largest(attributed)
    share = f"{100 * part.seconds / attributed.seconds:.0f} %"
    shared = shared_words(part, plan, at_once)
    culprit = None if shared else _culprit(part, usual)
    words = f"{share} of the time is {shared or _words(part, culprit, plan)}"
    is_trunk = any(trunk.place == part.place for trunk in plan.trunks)
    fitting = [what for what in tried if _fits(what.change, part, is_trunk)]
    best = max(fitting, key=lambda what: what.saving, default=None)
    if best is None:
        return f"{words}."
    where = (
        "" if culprit is None or len(_places(part, plan)) == 1 else f", {_all_alike(part, plan)},"
    )
    if best.saving < 0.005:
        return f"{words}; {best.words}{where} the run would take as long as it does."
    less = f"{'about ' if best.rough else ''}{100 * best.saving:.0f} % less"
    return f"{words}; {best.words}{where} the run would take {less} time."


def _largest(attributed: Attribution) -> Part:
    """Return the part with most of the time, with a tier's directions merged where both matter."""
    merged: dict[tuple[str, str], Part] = {}
    for part in attributed.parts.values():
        phase = phase_or_both_directions(part.phase, part.seconds, attributed.by_tier[part.place])
        key = part.place, phase
        into = merged.setdefault(key, Part(*key))
        into.seconds += part.seconds
        for node, seconds in part.by_node.items():
            into.by_node[node] += seconds
    return max(merged.values(), key=lambda part: part.seconds)


def _culprit(part: Part, usual: Usual) -> str | None:
    """Return the node with most of the part's time, unless it is just one of many alike."""
    name = max(part.by_node, key=lambda node: part.by_node[node])
    if part.by_node[name] <= _DOMINANT * part.seconds:
        return None
    ways = (UP, DOWN) if part.phase == BOTH_DIRECTIONS else (part.phase,)
    own = sum(usual.get((part.place, way), {}).get(name, 0.0) for way in ways)
    others = sum(
        fmean([s for node, s in usual.get((part.place, way), {}).items() if node != name] or [0.0])
        for way in ways
    )
    return name if own > _SLOWER * others else None


def _fits(change: Change, part: Part, both_ways: bool) -> bool:
    """Whether a change affects this part and nothing else; some links change only both ways."""
    if change.place != part.place:
        return False
    rates = (change.rate_up > 1, change.rate_down > 1)
    wanted = {UP: (True, False), DOWN: (False, True), BOTH_DIRECTIONS: (True, True)}.get(part.phase)
    if wanted is None:
        return rates == (False, False) and change.delay == 1 and change.speed_up_of(part.phase) > 1
    return rates == ((True, True) if both_ways else wanted) or change.delay < 1


def _words(part: Part, node: str | None, plan: Plan) -> str:
    if part.phase == WAIT:
        return "waiting that no phase explains"
    lower, _, upper = part.place.partition("-")
    whose = f"{node}'s" if node else _whose(lower, plan)
    if part.phase in (Phase.COMPUTE, Phase.AGGREGATE):
        return f"{whose} {'computing' if part.phase == Phase.COMPUTE else 'aggregation'}"
    one = node is not None or len(_places(part, plan)) == 1
    kind = {UP: "uplink", DOWN: "downlink"}.get(part.phase, "link") + ("" if one else "s")
    if upper == "cloud":
        return f"{whose} {kind} to the cloud"
    return f"{whose} {kind} to {'its' if one else 'their'} {_server(plan)}{'' if one else 's'}"


def _whose(role: str, plan: Plan) -> str:
    if role == "cloud":
        return "the cloud's"
    return f"the {_server(plan)}s'" if role == "edge" else f"the {role}s'"


def _server(plan: Plan) -> str:
    return "edge server" if plan.topology == "cells" else "institution"


def _places(part: Part, plan: Plan) -> list[str]:
    """Return the nodes that have such a part."""
    lower = part.place.partition("-")[0]
    return [node.name for node in plan.nodes if node.role == lower]


def _all_alike(part: Part, plan: Plan) -> str:
    lower = part.place.partition("-")[0]
    return f"all {_server(plan) if lower == 'edge' else lower}s alike"
