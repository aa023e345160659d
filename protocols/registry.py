"""Methods by name: one paper, one file."""

from importlib import import_module
from typing import Any

# name in a scenario -> module
_MODULES = {"fedavg": "protocols.fedavg"}

NAMES = tuple(_MODULES)


def load(name: str) -> Any:
    """The method's module, with its `Settings`, `Server` and `Client`."""
    return import_module(_MODULES[name])


def local_rule(name: str, settings: dict[str, Any]) -> Any:
    """The rule by which that method changes a local training step."""
    return load(name).LocalRule(settings)
