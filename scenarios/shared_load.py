"""What a round's transfers need on links that are shared, before anything is started."""

from collections import Counter
from collections.abc import Iterator
from math import inf

from contracts.links import LinkSpec
from contracts.plan import Plan
from netem.transfer_time import Transfer


def warnings(plan: Plan) -> Iterator[str]:
    """Yield one sentence for every shared link that cannot carry a round within `limits.round`."""
    if not plan.shares_links:
        return
    told: set[str] = set()
    for link, crossing in _crossing(plan).items():
        seconds = _round_seconds(plan, link, crossing)
        if link.shared and seconds > plan.limits.round and link.shared not in told:
            told.add(link.shared)
            yield (
                f"{link.shared}: the transfers of a round ({crossing} models each way) need about "
                f"{seconds:.0f} s on {link.name}, and limits.round is {plan.limits.round:.0f} s; "
                "raise it, or the rate"
            )


def _crossing(plan: Plan) -> Counter[LinkSpec]:
    """Return how many of a round's updates cross each shared link."""
    drawn = plan.settings.get("clients_per_round", 0)
    found: Counter[LinkSpec] = Counter()
    by_server: Counter[tuple[str, LinkSpec]] = Counter()
    for link in plan.links:
        server = plan.server_across(link) if link.tier else None
        heard = [name for name, _ in plan.node(link.host).servers]
        if server is None or server.name not in heard:
            continue
        for hop in plan.path(link):
            if hop.link.shared:
                by_server[server.name, hop.link] += 1
    for (server_name, shared), count in by_server.items():
        only_some = drawn and plan.node(plan.node(server_name).children[0]).role == "client"
        found[shared] += min(count, drawn) if only_some else count
    return found


def _round_seconds(plan: Plan, link: LinkSpec, crossing: int) -> float:
    ways = ((link.down, plan.update_bytes), (link.up, plan.model_bytes))
    if link.is_trunk:  # updates may cross it in either direction: the slower one counts
        slower = min((link.up, link.down), key=lambda way: (way and way.rate) or inf)
        ways = ((slower, plan.update_bytes), (slower, plan.model_bytes))
    beside = plan.bytes_beside_tensors
    return sum(
        Transfer(crossing * (size + beside), shape.rate, 0.0, 0.0).ideal_seconds
        for shape, size in ways
        if shape is not None and shape.rate is not None
    )
