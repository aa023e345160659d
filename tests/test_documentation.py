"""What the documents say must be so: names, keys, commands, examples and links."""

import dataclasses
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from cli import commands
from contracts.project import ROOT
from protocols import registry
from scenarios import loader, sweeps
from scenarios.schema import Task

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SCENARIOS = (ROOT / "docs/scenarios.md").read_text()


def _examples(language: str, text: str) -> list[str]:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for its_language, block in blocks if its_language == language]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_picture_of_a_page_is_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_understood(page: Path) -> None:
    known = {*loader.library(), *sweeps.library()}
    for line in _commands(page.read_text()):
        named = commands.parser().parse_args(shlex.split(line))
        asked = getattr(named, "scenario", None) or getattr(named, "file", None)
        assert asked is None or asked in known or asked.isupper() or "-or-" in asked, line


def _commands(text: str) -> list[str]:
    """After ./metronome: the lines of code blocks, and code between words, but for `[...]`."""
    blocks = "\n".join(_examples("", text)).replace("\\\n", " ")
    lines = re.findall(r"^(?:for .* do )?\./metronome ([^#;\n]*)", blocks, re.M) + re.findall(
        r"`\./metronome ([^`]*)`", text
    )
    return [line for line in lines if "[" not in line and not line.startswith("test")]


def test_the_example_scenario_can_be_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(_examples("toml", SCENARIOS)[0])

    scenario = loader.load(str(file))

    assert scenario.name == "my-study"


def test_the_example_sweep_can_be_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(next(text for text in _examples("toml", SCENARIOS) if "my-table" in text))

    assert len(sweeps.read(str(file)).runs) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_toml_example_is_toml(page: Path) -> None:
    for example in _examples("toml", page.read_text()):
        tomllib.loads(example)


@pytest.mark.parametrize("key", Task.model_fields)
def test_every_key_of_a_task_stands_in_the_example(key: str) -> None:
    assert re.search(rf"^#? ?{key} = ", _examples("toml", SCENARIOS)[0], re.MULTILINE)


@pytest.mark.parametrize("name", registry.PROTOCOLS)
def test_every_method_stands_in_the_table_with_its_keys(name: str) -> None:
    table = SCENARIOS.split("## The methods and their keys")[1]
    rows = {row.split("|")[1]: row for row in table.splitlines() if row.startswith("| `")}
    row = next(row for names, row in rows.items() if f"`{name}`" in names)
    inherited = rows[" `fedavg`, `fedadp` "] if "FedAvg's" in row else ""

    for field in dataclasses.fields(registry.method(name).Settings):
        assert field.name == "rounds" or f"`{field.name}`" in row + inherited, field.name
