"""The methods by name, the project's own and those of plug-ins."""

from functools import cache
from importlib import import_module
from typing import Any

from contracts.errors import BadInput
from contracts.registry import Registry
from protocols.method import Method

# name in a scenario -> what defines the method: a module's name, or anything with its parts
PROTOCOLS: Registry[Any] = Registry(
    "PROTOCOLS",
    {
        "fedavg": "protocols.fedavg",
        "ds": "protocols.ds",
        "dsl": "protocols.dsl",
        "es-fl": "protocols.es_fl",
        "fedadp": "protocols.fedadp",
        "fedasync": "protocols.fedasync",
        "fedbuff": "protocols.fedbuff",
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
    },
)


def method(name: str) -> Method:
    """Return the method of that name; its module is imported on first use."""
    return _made(name, PROTOCOLS.code(name))


@cache
def _made(name: str, _code: str) -> Method:
    found, plugin = PROTOCOLS[name], PROTOCOLS.plugin(name)
    try:
        return Method.of_module(name, import_module(found) if isinstance(found, str) else found)
    except (BadInput, ImportError) as error:
        if plugin is None:
            raise
        raise BadInput(f"{plugin.place('PROTOCOLS', name)}: {error}") from None
