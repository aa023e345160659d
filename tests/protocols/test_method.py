"""A method is read from its module once; what the module lacks is named."""

import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from contracts.errors import BadInput
from protocols import base, fedavg, fedprox, fsl, registry, tempo
from protocols.costs import StepCosts
from protocols.method import Method

COSTS = StepCosts(parameters=7, batch_size=10, forward=(5, 9), representations=(1, 2))
PARTS = {"Settings": fedavg.Settings, "Server": base.Server, "Client": base.Client}


def module_with(**parts: Any) -> ModuleType:
    module = ModuleType("brought_along")
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def without(part: str) -> ModuleType:
    return module_with(**{name: value for name, value in PARTS.items() if name != part})


def test_a_plain_module_asks_for_nothing_special() -> None:
    method = Method.of_module("mine", module_with(**PARTS))

    assert (method.name, method.Settings, method.Edge) == ("mine", fedavg.Settings, base.Server)
    assert method.needs_cloud is None
    flags = (
        *(method.hears_all_cells, method.star_only, method.needs_server_data),
        *(method.sends_server_data, method.trains_alone),
    )
    assert flags == (False,) * 5
    assert list(method.extra_flops(COSTS)) == []


def test_what_a_module_says_of_itself_is_taken() -> None:
    special = module_with(
        **PARTS,
        Edge=fedavg.Server,
        CLOUD=False,
        HEARS_ALL_CELLS=True,
        STAR_ONLY=True,
        NEEDS_SERVER_DATA=True,
        SENDS_SERVER_DATA=True,
        ALONE=True,
        LocalRule=fedprox.LocalRule,
        extra_flops=lambda costs: [costs.parameters * 2.0],
    )

    method = Method.of_module("special", special)

    assert method.Edge is fedavg.Server
    assert method.needs_cloud is False
    flags = (
        *(method.hears_all_cells, method.star_only, method.needs_server_data),
        *(method.sends_server_data, method.trains_alone),
    )
    assert flags == (True,) * 5
    assert isinstance(method.make_local_rule({"mu": 0.1}), fedprox.LocalRule)
    assert method.extra_flops(COSTS) == [14.0]


@pytest.mark.parametrize("part", ["Settings", "Server", "Client"])
def test_a_missing_part_is_named_with_its_module(part: str) -> None:
    with pytest.raises(BadInput, match=f'protocol "mine": module brought_along defines no {part};'):
        Method.of_module("mine", without(part))


def test_all_missing_parts_are_named_at_once() -> None:
    with pytest.raises(BadInput, match="no Settings and no Server and no Client"):
        Method.of_module("mine", module_with())


@dataclass(frozen=True)
class Endless:
    """Settings that say nothing of rounds."""

    mu: float = 0.1


@pytest.mark.parametrize(
    ("part", "wrong", "sentence"),
    [
        ("Settings", SimpleNamespace, "Settings is no dataclass"),
        ("Settings", Endless, "Settings has no field rounds"),
        ("Server", base.Client, r"Server is no subclass of protocols\.base\.Server"),
        ("Edge", base.Client, r"Edge is no subclass of protocols\.base\.Server"),
        ("Client", "Client", r"Client is no subclass of protocols\.base\.Client"),
    ],
)
def test_a_part_of_the_wrong_kind_is_refused(part: str, wrong: object, sentence: str) -> None:
    with pytest.raises(BadInput, match=rf"brought_along\.{sentence}"):
        Method.of_module("mine", module_with(**PARTS | {part: wrong}))


def test_a_rule_that_a_method_does_not_have_is_named() -> None:
    with pytest.raises(ValueError, match="fedavg defines no LocalRule"):
        registry.method("fedavg").make_local_rule({})


def test_the_registrys_methods_are_those_of_their_modules() -> None:
    assert registry.method("tempo").Edge is tempo.Edge
    assert registry.method("tempo").needs_cloud is True
    assert registry.method("fsl").Server is fsl.Server
    assert registry.method("fsl").star_only and registry.method("fsl").needs_server_data
    assert registry.method("fedavg") is registry.method("fedavg"), "built once"


def test_no_method_needs_torch_to_be_loaded() -> None:
    code = (
        "import sys\nfrom protocols import registry\n"
        "for name in registry.PROTOCOLS: registry.method(name)\n"
        "print('torch' in sys.modules)"
    )

    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert found.stdout.strip() == "False"
