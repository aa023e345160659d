"""Methods by name: one paper, one file."""

from importlib import import_module
from typing import Any

from protocols.costs import StepCosts

# name in a scenario -> module
_MODULES = {
    "fedavg": "protocols.fedavg",
    "ds": "protocols.ds",
    "dsl": "protocols.dsl",
    "es-fl": "protocols.es_fl",
    "fedadp": "protocols.fedadp",
    "feddyn": "protocols.feddyn",
    "fedmes": "protocols.fedmes",
    "fedprox": "protocols.fedprox",
    "fedrl": "protocols.fedrl",
    "fsl": "protocols.fsl",
    "fsl-p": "protocols.fsl_p",
    "hierfavg": "protocols.hierfavg",
    "multicell": "protocols.multicell",
    "scaffold": "protocols.scaffold",
    "solo": "protocols.solo",
    "tempo": "protocols.tempo",
}

NAMES = tuple(_MODULES)


def load(name: str) -> Any:
    """The method's module, with its `Settings`, `Server`, `Client` and perhaps `Edge`."""
    return import_module(_MODULES[name])


def edge_of(method: Any) -> Any:
    """The method's side of an edge: its `Edge`, or a `Server` like the cloud's."""
    return getattr(method, "Edge", method.Server)


def wants_cloud(name: str) -> bool | None:
    """Whether the method needs a cloud (True), has no use for one (False), or takes either."""
    return getattr(load(name), "CLOUD", None)


def hears_all_cells(name: str) -> bool:
    """Whether a client where cells overlap deals with all of them, or with its own only."""
    return bool(getattr(load(name), "HEARS_ALL_CELLS", False))


def wants_a_star(name: str) -> bool:
    """Whether the method is only for clients right below the cloud."""
    return bool(getattr(load(name), "STAR_ONLY", False))


def needs_server_data(name: str) -> bool:
    """Whether the server learns from samples of its own, or shares them."""
    return bool(getattr(load(name), "NEEDS_SERVER_DATA", False))


def sends_server_data(name: str) -> bool:
    """Whether the server's samples cross the network."""
    return bool(getattr(load(name), "SENDS_SERVER_DATA", False))


def trains_alone(name: str) -> bool:
    """Whether clients have nothing to do with any server."""
    return bool(getattr(load(name), "ALONE", False))


def local_rule(name: str, settings: dict[str, Any]) -> Any:
    """The rule by which that method changes a local training step."""
    return load(name).LocalRule(settings)


def extra_flops(name: str, costs: StepCosts) -> list[float]:
    """What the method's local steps cost beyond plain SGD, a cycle (see protocols.costs)."""
    method = load(name)
    return list(method.extra_flops(costs)) if hasattr(method, "extra_flops") else []
