"""Turns a checked scenario into a plan: names, addresses, link shapes and computing times."""

import dataclasses

from contracts.errors import BadInput
from contracts.plan import CellPlan, Limits, Plan, size_of
from contracts.training import TrainingSettings
from learning.data.main_classes import main_classes
from protocols import registry
from scenarios import (
    availability,
    graph_hosts,
    loader,
    offload,
    packing,
    quantities,
    timeline,
    traffic,
    transport,
    wiring,
)
from scenarios.node_specs import node_specs
from scenarios.schema import Scenario
from scenarios.task_facts import TaskFacts

HEADER_BYTES = 1 << 16  # more than any model's header needs


def plan(scenario: Scenario, facts: TaskFacts, run: str, trainer: str) -> Plan:
    """Work out every node and link of a run in numbers, before anything is started.

    `run` is the run's name; `trainer` is "pool" (workers on the host) or "inline" (each node).
    """
    method, settings = registry.method(scenario.protocol.name), loader.protocol_settings(scenario)
    topo = wiring.build_topology(scenario)
    links = transport.applied(scenario.transport, wiring.link_specs(topo, scenario))
    buffer = scenario.transport.buffer
    made = Plan(
        run=run,
        clock=scenario.clock,
        seed=scenario.seed,
        protocol=scenario.protocol.name,
        rounds=scenario.protocol.rounds,
        topology=scenario.topology.kind,
        topology_numbers=wiring.topology_numbers(scenario),
        nodes=node_specs(scenario, facts, topo, links),
        links=links,
        settings=dataclasses.asdict(settings),
        training=_training(scenario),
        limits=_limits(scenario),
        trainer=trainer,
        pause="fsync" if scenario.clock == "virtual" else "sleep",
        tensors=dict(facts.tensors),
        cells=_cells(scenario, facts.classes),
        timeline=timeline.plan_events(scenario, links),
        walk=timeline.plan_walk(scenario),
        availability=availability.planned(
            scenario.availability, scenario.topology.client_names, scenario.seed
        ),
        update_bytes=size_of(method.Server(settings, {}).update_shapes(facts.tensors)),
        supply_bytes=facts.server_bytes if method.sends_server_data else 0,
        traces=wiring.traces(scenario),
        traffic=traffic.plan_flows(scenario, links),
        evaluate_every=scenario.task.evaluate_every,
        stop_at=scenario.task.target_accuracy if scenario.stop == "target" else None,
        further_rounds=scenario.further_rounds,
        slow_start_after_idle=scenario.transport.slow_start_after_idle,
        socket_buffer=None if buffer is None else quantities.size_in_bytes(buffer),
        wire=packing.planned(scenario.wire, scenario.topology.tiers),
        encryption=scenario.transport.encryption,
        trunks=wiring.trunk_specs(scenario.topology),
        routes=graph_hosts.routes(scenario.topology),
    )
    _check_that_messages_fit(made)
    return offload.applied(made, scenario)


def _training(scenario: Scenario) -> TrainingSettings:
    task = scenario.task
    return TrainingSettings(
        batch_size=task.batch_size,
        learning_rate=task.learning_rate,
        learning_rate_decay=task.learning_rate_decay,
        learning_rate_drops=tuple(task.learning_rate_drops),
        momentum=task.momentum,
        weight_decay=task.weight_decay,
        shuffle=task.shuffle,
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


def _cells(scenario: Scenario, classes: int) -> CellPlan | None:
    """Return what evaluation and reports need on cells: the main classes of each, and rho."""
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


def _check_that_messages_fit(made: Plan) -> None:
    """Raise BadInput if the run's largest messages would exceed `limits.message`."""
    for what, size in (("the model needs", made.update_bytes), ("D_0 needs", made.supply_bytes)):
        needed = size + HEADER_BYTES
        if made.limits.message < needed:
            raise BadInput(f"limits.message: {what} {needed} bytes; raise it to that or more")
