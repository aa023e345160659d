"""Whether task, method and topology of a scenario fit together."""

from typing import Any

from protocols import registry
from scenarios.errors import BadInput
from scenarios.schema import Scenario


def check_fit(scenario: Scenario, settings: Any) -> None:
    """BadInput where one part would be ignored, or needs what another lacks."""
    topology, task, name = scenario.topology, scenario.task, scenario.protocol.name
    on_cells, has_cloud = topology.kind == "cells", "cloud" in topology.roles
    wanted = registry.wants_cloud(name)
    if wanted is True and not has_cloud:
        raise BadInput(f"protocol.name: {name} needs a cloud; set topology.cloud = true")
    if wanted is False and has_cloud:
        remedy = "take topology.cloud out" if on_cells else 'use topology.kind = "cells"'
        raise BadInput(f"protocol.name: {name} works without a cloud; {remedy}")
    layers = len(topology.roles)
    if getattr(settings, "edge_rounds", 1) > 1 and not (has_cloud and layers == 3):
        raise BadInput(
            f"protocol.edge_rounds: {name} holds that many rounds at edges below a cloud, and here "
            "are none; set it to 1, or use a tree"
        )
    if task.partition == "main-classes" and not on_cells:
        raise BadInput('task.partition: main-classes are those of cells; use topology.kind "cells"')
    if task.rho != [1.0] and not on_cells:
        raise BadInput("task.rho: a share of a cell's main classes; leave it out without cells")
