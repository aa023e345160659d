"""The JSON Schema that editors use accepts what Metronome accepts, and marks what it refuses."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from contracts.project import ROOT
from scenarios.json_schema import scenario_schema, sweep_schema
from tests.support.plugin_files import EXAMPLES

SCENARIOS = sorted((ROOT / "scenarios" / "library").glob("**/*.toml"))
SWEEPS = sorted((ROOT / "scenarios" / "sweeps").glob("*.toml"))
OF_SCENARIOS = jsonschema.Draft202012Validator(scenario_schema())
OF_SWEEPS = jsonschema.Draft202012Validator(sweep_schema())


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_every_scenario_of_the_library_is_accepted(file: Path) -> None:
    assert [error.message for error in _errors(tomllib.loads(file.read_text()))] == []


@pytest.mark.parametrize("file", SWEEPS, ids=lambda file: file.stem)
def test_every_sweep_of_the_library_is_accepted(file: Path) -> None:
    OF_SWEEPS.validate(tomllib.loads(file.read_text()))


def _errors(tree: dict[str, Any]) -> list[Any]:
    return list(OF_SCENARIOS.iter_errors(tree))


@pytest.mark.parametrize(
    "wrong",
    [
        'clok = "virtual"',
        'clock = "sundial"',
        "[task]\nepoch = 3",
        '[task]\nmodel = "lenet"',
        '[task]\ndataset = "fashionmnits"',
        '[protocol]\nname = "fedavgg"',
        "[protocol]\nlocal_epoch = 3",
        '[protocol]\nrounds = "three"',
        '[links]\nclient-cloud = "5gg"',
        '[links]\nclient-clod = "5g"',
        '[links]\nclient-cloud = { profile = "5gg" }',
        "[devices]\nclient = { mix = { fone = 1 } }",
        '[[timeline]]\nevent = "outrage"\nat = 3',
        '[[timeline]]\nevent = "crash"',
        '[variants.a.task]\nmodel = "lenet"',
    ],
)
def test_what_metronome_refuses_is_marked(wrong: str) -> None:
    assert _errors(tomllib.loads(wrong))


@pytest.mark.parametrize(
    "right",
    [
        'extends = "base.toml"\n[protocol]\nrounds = 3',
        '[links]\nclient-cloud = { profile = "lte", delay = "3ms" }',
        "[links]\nclient-cloud = { mix = { lte = 3, wifi = 1 } }",
        "[devices]\nclient = { mix = { phone = 0.5, laptop-core = 0.5 } }",
        '[devices]\nclient = { speed = "5e12", memory = "1gb" }',
        '[hosts.client1]\nlink = "lte"\ndevice = "phone"',
        '[variants.a.protocol]\nname = "tempo"',
    ],
)
def test_what_only_a_file_can_say_is_accepted(right: str) -> None:
    assert _errors(tomllib.loads(right)) == []


def test_it_is_printed_with_the_names_of_plugins() -> None:
    words = [sys.executable, "-m", "cli", "schema", "--plugin", str(EXAMPLES / "fedavgm.py")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)

    protocol = json.loads(done.stdout)["$defs"]["Protocol"]["properties"]

    assert protocol["name"]["enum"][-1] == "fedavgm" and protocol["beta"]["type"] == "number"
