"""Packages: what pyproject.toml declares, what is pinned, and what the code imports agree."""

import ast
import importlib.metadata
import sys
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from contracts.project import ROOT

RUNTIME, DEVELOPMENT = "requirements.txt", "requirements-dev.txt"
# Installed by ./metronome (without dependencies), by Debian, and into an environment of its own.
ELSEWHERE = {"torchvision", "mininet", "distutils", "flwr"}
# Builds of torch for graphics cards bring these, in versions that torch itself chooses.
BROUGHT_BY_TORCH = ("nvidia-", "triton", "cuda-")


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def _declared(file: str) -> list[Requirement]:
    project = _project()
    lines = project["dependencies"]
    if file == DEVELOPMENT:
        lines = project["optional-dependencies"]["test"]
    return [Requirement(line) for line in lines]


def _pins(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def _needed_by(declared: Iterable[Requirement]) -> set[str]:
    """These packages and all that they need in turn, as the installed ones say."""
    needed: set[str] = set()
    to_do = [canonicalize_name(requirement.name) for requirement in declared]
    while to_do:
        name = to_do.pop()
        if name in needed:
            continue
        needed.add(name)
        for requirement in map(Requirement, importlib.metadata.requires(name) or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                to_do.append(canonicalize_name(requirement.name))
    return needed


def _imports(folder: str) -> Iterator[str]:
    """The top-level modules that the files of a folder import, also inside functions."""
    for path in (ROOT / folder).rglob("*.py"):
        for found in ast.walk(ast.parse(path.read_text())):
            if isinstance(found, ast.Import):
                yield from (name.name.partition(".")[0] for name in found.names)
            elif isinstance(found, ast.ImportFrom) and found.module and found.level == 0:
                yield found.module.partition(".")[0]


def _foreign_imports(folders: Iterable[str]) -> set[str]:
    """Packages, by the names they are installed under, that do not come with Python."""
    own = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"benchmarks", "metronome"}
    modules = {module for folder in folders for module in _imports(folder)}
    distributions = importlib.metadata.packages_distributions()
    return {
        canonicalize_name(distributions[module][0])
        for module in modules - own - ELSEWHERE - set(sys.stdlib_module_names)
    }


def _rooms() -> list[str]:
    return [path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests"]


@pytest.mark.parametrize("file", [RUNTIME, DEVELOPMENT])
def test_every_declared_package_is_pinned_in_its_file_to_a_version_that_fits(file: str) -> None:
    pins = _pins(file)

    for requirement in _declared(file):
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)])


def test_a_run_installs_what_it_needs_and_nothing_else() -> None:
    needed = _needed_by(_declared(RUNTIME))

    assert _pins(RUNTIME).keys() - needed == set()
    assert {name for name in needed - _pins(RUNTIME).keys() if _ours_to_pin(name)} == set()


def test_the_checks_install_what_they_need_besides_and_nothing_else() -> None:
    needed = _needed_by(_declared(DEVELOPMENT)) - _needed_by(_declared(RUNTIME))

    assert _pins(DEVELOPMENT).keys() == needed


def _ours_to_pin(name: str) -> bool:
    return not name.startswith(BROUGHT_BY_TORCH)


def test_what_the_rooms_import_is_declared_for_a_run() -> None:
    declared = {canonicalize_name(requirement.name) for requirement in _declared(RUNTIME)}

    assert _foreign_imports([*_rooms(), "benchmarks"]) - declared == set()


def test_what_the_tests_import_is_pinned() -> None:
    assert _foreign_imports(["tests"]) - _pins(RUNTIME).keys() - _pins(DEVELOPMENT).keys() == set()


def test_what_the_benchmark_of_peers_imports_besides_is_pinned_in_its_own_group() -> None:
    group = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["peers"]
    pins = {requirement.name: str(requirement.specifier) for requirement in map(Requirement, group)}

    assert pins.keys() == {"flwr"} == set(_imports("benchmarks/peers")) & ELSEWHERE
    assert all(pin.startswith("==") for pin in pins.values())


def test_the_installed_versions_are_the_pinned_ones() -> None:
    pins = _pins(RUNTIME) | _pins(DEVELOPMENT)

    other = {
        name: (importlib.metadata.version(name), version)
        for name, version in pins.items()
        if not Requirement(f"{name}=={version}").specifier.contains(
            importlib.metadata.version(name)
        )
    }

    assert other == {}


def test_every_room_says_that_it_is_typed() -> None:
    assert [room for room in _rooms() if not (ROOT / room / "py.typed").exists()] == []


def test_the_project_table_says_what_the_project_is() -> None:
    project = _project()

    assert project["name"] == "metronome"
    assert project["requires-python"] == ">=3.11"
    assert project["description"] and (ROOT / project["readme"]).exists()


def test_the_changelog_has_a_place_for_what_is_not_released() -> None:
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text()
