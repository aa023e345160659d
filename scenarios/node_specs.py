"""Works out the nodes of a plan: parents and children, addresses, devices."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.errors import BadInput
from contracts.links import LinkSpec
from contracts.plan import NodeSpec
from protocols import registry
from protocols.method import Method
from scenarios import quantities, wiring
from scenarios.schema import Device, MixedDevice, Role, Scenario
from scenarios.task_facts import TaskFacts

Addresses = Mapping[str, Mapping[str, str]]  # host -> network -> address


@dataclass(frozen=True)
class Relations:
    """Which node exchanges messages with which under the scenario's method, by name."""

    roles: Mapping[str, Role]
    parents: Mapping[str, str | None]
    others: Mapping[str, Sequence[str]]  # further servers that a client is connected to
    children: Mapping[str, Sequence[str]]


def node_specs(
    scenario: Scenario, facts: TaskFacts, topo: Any, links: Sequence[LinkSpec]
) -> tuple[NodeSpec, ...]:
    """Return the specification of every node, in the topology's order."""
    method = registry.method(scenario.protocol.name)
    relations = _relations(topo, method)
    if not method.trains_alone:
        _check_everybody_has_work(relations)
    addresses = _addresses(links)
    extra_flops = method.extra_flops(facts.costs) if facts.costs else ()
    clients = [name for name, role in relations.roles.items() if role == "client"]
    indices = {name: index for index, name in enumerate(clients)}
    visited = dict(zip(clients, wiring.later_cells(scenario), strict=True))
    samples = dict(zip(clients, facts.samples, strict=True))
    servers_samples = {"edge": 0, "cloud": facts.server_samples}
    shared = _shared_devices(scenario, topo, clients)
    nodes = []
    for name, role in relations.roles.items():
        device = draw_device(_device_of(scenario, name, role), scenario.seed, name)
        parent = relations.parents[name]
        visits = [f"edge{cell + 1}" for cell in visited.get(name, ())]
        nodes.append(
            NodeSpec(
                name=name,
                role=role,
                index=indices.get(name, -1),
                parent=parent,
                parent_address=None if parent is None else _address(addresses, name, parent),
                children=tuple(relations.children[name]),
                addresses=dict(addresses[name]),
                device=device.profile or "custom",
                seconds_per_step=_seconds_per_step(device, facts),
                memory_bytes_per_second=float(quantities.size_in_bytes(device.memory)),
                samples=samples[name] if role == "client" else servers_samples[role],
                others=_with_addresses(addresses, name, relations.others[name]),
                visits=_with_addresses(addresses, name, visits),
                shared_device=shared.get(name, ""),
                extra_seconds=tuple(flops / device.speed for flops in extra_flops),
            )
        )
    return tuple(nodes)


def _device_of(scenario: Scenario, name: str, role: Role) -> Device:
    own = scenario.hosts.get(name)
    return own.device if own and own.device else scenario.devices[role]


def draw_device(device: Device, seed: int, node: str) -> MixedDevice:
    """Draw the node's device from a mix; it depends only on the seed and the node's name."""
    kinds = device.kinds
    shares = [kind.share for kind in kinds]
    return random.Random(f"{seed}/{node}").choices(kinds, shares)[0]


def _shared_devices(scenario: Scenario, topo: Any, clients: Sequence[str]) -> dict[str, str]:
    """Name the device of each client that shares one: with its neighbours at the same server."""
    together = scenario.devices["client"].shared_by
    if together == 1:
        return {}
    seen: Counter[str] = Counter()
    devices = {}
    for name in clients:
        if name in scenario.hosts and scenario.hosts[name].device is not None:
            continue
        home = topo.nodeInfo(name)["parent"]
        devices[name] = f"{home}-device{seen[home] // together + 1}"
        seen[home] += 1
    return devices


def _seconds_per_step(device: MixedDevice, facts: TaskFacts) -> float:
    return facts.flops_per_step / device.speed + quantities.seconds(device.overhead)


def _relations(topo: Any, method: Method) -> Relations:
    """Take from the topology the parents and further servers that the method makes use of."""
    about = {name: topo.nodeInfo(name) for name in topo.hosts(sort=False)}
    parents = {
        name: None if method.trains_alone else node["parent"] for name, node in about.items()
    }
    others = {
        name: node.get("others", []) if method.hears_all_cells else []
        for name, node in about.items()
    }
    children: dict[str, list[str]] = {name: [] for name in about}
    for name, parent in parents.items():
        for server in ([] if parent is None else [parent]) + others[name]:
            children[server].append(name)
    roles: dict[str, Role] = {name: node["role"] for name, node in about.items()}
    return Relations(roles, parents, others, children)


def _check_everybody_has_work(relations: Relations) -> None:
    for name, below in relations.children.items():
        if relations.roles[name] != "client" and not below:
            raise BadInput(
                f"topology: {name} would serve nobody; give it clients (topology.alone or "
                "topology.overlaps for a cell, topology.hosts in a graph)"
            )


def _addresses(links: Sequence[LinkSpec]) -> Addresses:
    """Give each switch a /16 network, 10.<switch>.<host>, and each host an address on it.

    The routers of a graph have one network together.
    """
    networks: dict[str, int] = {}
    used: dict[str, int] = {}
    addresses: dict[str, dict[str, str]] = {}
    for link in links:
        network = link.network_name
        number = networks.setdefault(network, len(networks))
        used[network] = host = used.get(network, 0) + 1
        address = f"10.{number}.{host // 256}.{host % 256}"
        addresses.setdefault(link.host, {})[network] = address
    return addresses


def _address(addresses: Addresses, name: str, server: str) -> str:
    """Return the server's address in the network that it shares with the node."""
    return next(
        addresses[server][network] for network in addresses[name] if network in addresses[server]
    )


def _with_addresses(
    addresses: Addresses, name: str, servers: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    return tuple((server, _address(addresses, name, server)) for server in servers)
