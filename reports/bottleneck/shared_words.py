"""How the bottleneck sentence names a link that several transfers share."""

from collections.abc import Mapping

from contracts.plan import Plan
from reports.bottleneck.attribution import Part
from reports.bottleneck.shared_replay import DISTANCE
from reports.bottleneck.used_links import DOWN, UP
from reports.wording import rate

_WHOSE = {
    "links.cloud": "the cloud's own",
    "links.edge": "the institutions' own",
    "links.cell": "the cells' air,",
}


def shared_words(part: Part, plan: Plan, at_once: Mapping[tuple[str, str], int]) -> str:
    """Return, for example: the cloud's own 100 Mbit/s, shared by 40 uploads; empty for others."""
    if part.place == DISTANCE:
        return "the delays of the ways through the graph, with TCP's slow start"
    links = [link for link in plan.links_and_trunks if link.shared == part.place]
    if not links:
        return ""
    one_way = {UP: (UP,), DOWN: (DOWN,)}.get(part.phase)
    ways = (UP, DOWN) if one_way is None or links[0].is_trunk else one_way
    shapes = [link.down if way == UP else link.up for link in links for way in ways]
    rates = sorted({shape.rate for shape in shapes if shape is not None and shape.rate is not None})
    speed = " to ".join(rate(one) for one in dict.fromkeys((rates[0], rates[-1]))) if rates else ""
    what = {UP: "uploads", DOWN: "downloads"}.get(part.phase, "transfers")
    many = max((at_once.get((part.place, way), 0) for way in ways), default=0)
    whose = _WHOSE.get(part.place, f"the link {part.place},")
    return f"{whose} {speed}, shared by {'up to ' if len(links) > 1 else ''}{many} {what}"
