"""Checks a scenario's background traffic and turns it into the plan's flows."""

from collections.abc import Sequence

from contracts.errors import BadInput
from contracts.links import LinkSpec
from contracts.traffic import Flow
from scenarios import wiring
from scenarios.quantities import bits_per_second, seconds
from scenarios.schema import Scenario
from scenarios.suggestions import did_you_mean


def check(scenario: Scenario) -> None:
    """Raise BadInput for a flow between unknown hosts, or hosts without a common switch."""
    links = wiring.link_specs(wiring.build_topology(scenario), scenario) if scenario.traffic else ()
    hosts = list(dict.fromkeys(link.host for link in links))
    for number, flow in enumerate(scenario.traffic, 1):
        place = f"traffic.{number}"
        for key, host in (("from", flow.sender), ("to", flow.to)):
            if host not in hosts:
                raise BadInput(f'{place}.{key}: no host "{host}"; {did_you_mean(host, hosts)}')
        near = [h for h in hosts if h != flow.sender and _shared_networks(flow.sender, h, links)]
        if flow.to not in near:
            raise BadInput(
                f"{place}.to: no switch connects {flow.sender} with {flow.to}, and hosts do not "
                f"forward; name one of {', '.join(near[:5])}"
            )


def plan_flows(scenario: Scenario, links: Sequence[LinkSpec]) -> tuple[Flow, ...]:
    """Return every flow in numbers, with the switch that it crosses."""
    return tuple(
        Flow(
            sender=flow.sender,
            receiver=flow.to,
            **_ends(flow.sender, flow.to, links),
            kind=flow.kind,
            rate=bits_per_second(flow.rate),
            on=None if flow.on is None else seconds(flow.on),
            off=None if flow.off is None else seconds(flow.off),
            start=seconds(flow.start),
            until=None if flow.until is None else seconds(flow.until),
        )
        for flow in scenario.traffic
    )


def _ends(sender: str, receiver: str, links: Sequence[LinkSpec]) -> dict[str, str]:
    """Return the network between two hosts and their switches there, as a Flow has them."""
    network = _shared_networks(sender, receiver, links)[0]
    there = {link.host: link for link in links if link.network_name == network}
    at = {host: link.switch for host, link in there.items()}
    if not there[sender].network:
        return {"switch": network}
    return {"switch": at[sender], "receiver_switch": at[receiver], "network": network}


def _shared_networks(one: str, other: str, links: Sequence[LinkSpec]) -> list[str]:
    """Return the networks that both hosts have a link to."""
    there = {link.network_name for link in links if link.host == other}
    ours = [link.network_name for link in links if link.host == one]
    return [network for network in ours if network in there]
