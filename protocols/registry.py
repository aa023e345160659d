"""Methods by name: one paper, one file."""

from importlib import import_module
from typing import Any

# name in a scenario -> module
_MODULES = {
    "fedavg": "protocols.fedavg",
    "fedadp": "protocols.fedadp",
    "tempo": "protocols.tempo",
}

NAMES = tuple(_MODULES)


def load(name: str) -> Any:
    """The method's module, with its `Settings`, `Server`, `Client` and perhaps `Edge`."""
    return import_module(_MODULES[name])


def edge_of(method: Any) -> Any:
    """The method's side of an edge: its `Edge`, or a `Server` like the cloud's."""
    return getattr(method, "Edge", method.Server)


def local_rule(name: str, settings: dict[str, Any]) -> Any:
    """The rule by which that method changes a local training step."""
    return load(name).LocalRule(settings)
