"""From a checked scenario to a plan: names, addresses, shapes, and what computing costs."""

import dataclasses
import random
from collections.abc import Mapping

from contracts.errors import BadInput
from contracts.links import LinkSpec
from contracts.plan import CellPlan, Limits, NodeSpec, Plan, size_of
from contracts.training import TrainingSettings
from learning.main_classes import main_classes
from protocols import registry
from protocols.costs import StepCosts
from scenarios import loader, quantities, timeline, traffic, wiring
from scenarios.schema import Device, MixedDevice, Scenario
from scenarios.wiring import topology_numbers

HEADER_BYTES = 1 << 16  # more than any model's header needs


def draw(device: Device, seed: int, node: str) -> MixedDevice:
    """The node's own device: drawn from a mix by the run's seed, the same in every run."""
    kinds = device.kinds
    shares = [kind.share for kind in kinds]
    return random.Random(f"{seed}/{node}").choices(kinds, shares)[0]


def cells(scenario: Scenario, classes: int) -> CellPlan | None:
    """What reports must know of a run on cells: whose main classes are which."""
    count = scenario.topology.cells
    if count is None:
        return None
    if classes % count:
        raise BadInput(
            f"topology.cells: {classes} classes cannot be shared out among {count} cells; "
            "set task.classes to a multiple of them"
        )
    edges = tuple(f"edge{number}" for number in range(1, count + 1))
    return CellPlan(
        edges=edges,
        main_classes={e: tuple(main_classes(i, count, classes)) for i, e in enumerate(edges)},
        rho=tuple(scenario.task.rho),
        has_cloud=bool(scenario.topology.cloud),
    )


def plan(
    scenario: Scenario,
    run: str,
    trainer: str,
    samples: list[int],
    flops_per_step: int,
    tensors: Mapping[str, tuple[str, tuple[int, ...]]],
    classes: int = 0,
    server_samples: int = 0,
    server_bytes: int = 0,
    costs: StepCosts | None = None,
) -> Plan:
    """Fix every node and link of a run; `samples` are the clients' data set sizes in order, and
    `server_samples` that of the cloud's own, of `server_bytes`."""
    method = registry.method(scenario.protocol.name)
    extra_flops = method.extra_flops(costs) if costs else ()
    topo = wiring.topo(scenario)
    links = wiring.links(topo, scenario)
    addresses = _addresses(links)
    alone = method.trains_alone
    parents = {
        name: None if alone else topo.nodeInfo(name)["parent"] for name in topo.hosts(sort=False)
    }
    hears_all = method.hears_all_cells
    others = {name: topo.nodeInfo(name).get("others", []) if hears_all else [] for name in parents}
    children: dict[str, list[str]] = {name: [] for name in parents}
    for name, parent in parents.items():
        for server in ([parent] if parent is not None else []) + others[name]:
            children[server].append(name)
    if not alone:
        _check_everybody_has_work(children, {n: topo.nodeInfo(n)["role"] for n in parents})
    visited = wiring.visited(scenario)
    own_samples = {"edge": 0, "cloud": server_samples}
    nodes = []
    clients = 0
    for name, parent in parents.items():
        role = topo.nodeInfo(name)["role"]
        device = draw(scenario.devices[role], scenario.seed, name)
        seconds_per_step = flops_per_step / device.speed + quantities.seconds(device.overhead)
        nodes.append(
            NodeSpec(
                name=name,
                role=role,
                index=clients if role == "client" else -1,
                parent=parent,
                parent_address=_shared_address(addresses, name, parent),
                children=tuple(children[name]),
                addresses=addresses[name],
                device=device.profile or "custom",
                seconds_per_step=seconds_per_step,
                memory_bytes_per_second=float(quantities.size_in_bytes(device.memory)),
                samples=samples[clients] if role == "client" else own_samples[role],
                others=tuple(
                    (server, str(_shared_address(addresses, name, server)))
                    for server in others[name]
                ),
                visits=tuple(
                    (f"edge{cell + 1}", str(_shared_address(addresses, name, f"edge{cell + 1}")))
                    for cell in (visited[clients] if role == "client" else ())
                ),
                extra_seconds=tuple(flops / device.speed for flops in extra_flops),
            )
        )
        clients += role == "client"
    task, settings = scenario.task, loader.protocol_settings(scenario)
    update = method.Server(settings, {}).update_shapes(tensors)
    made = Plan(
        run=run,
        clock=scenario.clock,
        seed=scenario.seed,
        protocol=scenario.protocol.name,
        rounds=scenario.protocol.rounds,
        topology=scenario.topology.kind,
        topology_numbers=topology_numbers(scenario),
        nodes=tuple(nodes),
        links=links,
        settings=dataclasses.asdict(settings),
        training=TrainingSettings(
            batch_size=task.batch_size,
            learning_rate=task.learning_rate,
            learning_rate_decay=task.learning_rate_decay,
            learning_rate_drops=tuple(task.learning_rate_drops),
            momentum=task.momentum,
            weight_decay=task.weight_decay,
            shuffle=task.shuffle,
        ),
        limits=_limits(scenario),
        trainer=trainer,
        pause="fsync" if scenario.clock == "virtual" else "sleep",
        tensors=dict(tensors),
        cells=cells(scenario, classes),
        timeline=timeline.planned(scenario, links),
        walk=timeline.walk(scenario),
        update_bytes=size_of(update),
        supply_bytes=server_bytes if method.sends_server_data else 0,
        traces=wiring.traces(scenario),
        traffic=traffic.planned(scenario, links),
    )
    for what, size in (("the model needs", made.update_bytes), ("D_0 needs", made.supply_bytes)):
        needed = size + HEADER_BYTES
        if made.limits.message < needed:
            raise BadInput(f"limits.message: {what} {needed} bytes; raise it to that or more")
    return made


def _check_everybody_has_work(children: Mapping[str, list[str]], roles: Mapping[str, str]) -> None:
    for name, below in children.items():
        if roles[name] != "client" and not below:
            raise BadInput(
                f"topology: {name} would serve nobody; give every cell a client of its own "
                "(topology.alone, or topology.overlaps)"
            )


def _addresses(links: tuple[LinkSpec, ...]) -> dict[str, dict[str, str]]:
    """One /16 for each switch: 10.<switch>.<host>."""
    switches: dict[str, int] = {}
    used: dict[str, int] = {}
    addresses: dict[str, dict[str, str]] = {}
    for link in links:
        number = switches.setdefault(link.switch, len(switches))
        used[link.switch] = host = used.get(link.switch, 0) + 1
        address = f"10.{number}.{host // 256}.{host % 256}"
        addresses.setdefault(link.host, {})[link.switch] = address
    return addresses


def _shared_address(
    addresses: dict[str, dict[str, str]], name: str, parent: str | None
) -> str | None:
    if parent is None:
        return None
    return next(
        addresses[parent][switch] for switch in addresses[name] if switch in addresses[parent]
    )


def _limits(scenario: Scenario) -> Limits:
    limits = scenario.limits
    return Limits(
        join=quantities.seconds(limits.join),
        round=quantities.seconds(limits.round),
        patience=None if limits.patience is None else quantities.seconds(limits.patience),
        late=limits.late,
        quorum=limits.quorum,
        message=quantities.size_in_bytes(limits.message),
    )
