"""The bottleneck analysis of a run: tables, and one sentence with what would help."""

from typing import Any

from contracts.plan import Plan
from reports.bottleneck.attribution import attribute_time, mean_seconds_by_node
from reports.bottleneck.critical_path import Step
from reports.bottleneck.replay import Replay
from reports.bottleneck.sentence import bottleneck_sentence
from reports.bottleneck.shared_replay import SharedReplay
from reports.bottleneck.stragglers import stragglers
from reports.bottleneck.what_if import what_ifs
from reports.records.events import Event

_MOST_STRAGGLERS = 20


def bottleneck(
    events: list[Event], plan: Plan | None, critical_paths: dict[int, list[Step]]
) -> dict[str, Any]:
    """Return the `bottleneck` object of summary.json; empty for a run without a finished round."""
    steps = [step for path in critical_paths.values() for step in path]
    if plan is None or not steps:
        return {}
    sharing = SharedReplay(events, plan) if plan.shares_links else None
    attributed = attribute_time(steps, plan, sharing)
    tried = list(what_ifs(attributed, sharing or Replay(events, plan), plan))
    late = stragglers(events, steps)
    return {
        "sentence": bottleneck_sentence(
            attributed,
            tried,
            mean_seconds_by_node(events, plan),
            plan,
            sharing.most_at_once if sharing else {},
        ),
        **attributed.tables(),
        "stragglers": [
            straggler.row() | _what_it_has(plan, straggler.node)
            for straggler in late[:_MOST_STRAGGLERS]
        ],
        "what_if": [t.row() for t in sorted(tried, key=lambda t: -t.saving)],
    }


def _what_it_has(plan: Plan, node: str) -> dict[str, Any]:
    """Name a node's link and device, where those of its tier or role differ."""
    told: dict[str, Any] = {}
    if plan.links_differ:
        own = [plan.kind_of(link) for link in plan.links if link.host == node and link.tier]
        told["link"] = own[0] if own else None
    spec = plan.node(node)
    if len({other.device for other in plan.nodes if other.role == spec.role}) > 1:
        told["device"] = spec.device
    return told
