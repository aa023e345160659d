"""The registry of methods: each name and the file that defines it."""

from functools import cache
from importlib import import_module

from protocols.method import Method

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


@cache
def method(name: str) -> Method:
    """Return the method of that name; its module is imported on first use."""
    return Method.of_module(name, import_module(_MODULES[name]))
