"""What made a run: how it is found out, where it is recorded, and what its readers say about it."""

import json
import os
import re
import subprocess
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from cli.commands import main
from contracts.plan import Plan
from contracts.project import ROOT
from contracts.provenance import UNKNOWN
from contracts.schema import SCHEMA
from netem.backends.guest import Guest
from netem.backends.native import Native
from netem.guest import kernel, kernel_store
from reports.finish import RunFacts, finish
from runner import provenance
from runner.preparation import prepare
from runner.provenance import collect, commit_of, processor
from scenarios import loader
from tests.support.compared_runs import PROVENANCE
from tests.support.fake_run import FakeRun
from tests.support.scenario_trees import star_scenario

# Finding it out


def _git(tree: Path, *words: str) -> str:
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    command = ["git", "-C", str(tree), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    tree = tmp_path / "repository"
    tree.mkdir()
    _git(tree, "init", "-q")
    (tree / "file.py").write_text("1\n")
    _git(tree, "add", ".")
    _git(tree, "commit", "-q", "-m", "first")
    return tree


def test_a_commit_is_named_and_a_changed_tree_told_from_a_clean_one(repository: Path) -> None:
    commit = _git(repository, "rev-parse", "HEAD")

    assert commit_of(repository) == (commit, False)
    (repository / "file.py").write_text("2\n")
    assert commit_of(repository) == (commit, True)


def test_a_file_that_was_never_committed_is_a_change(repository: Path) -> None:
    (repository / "new.py").touch()

    assert commit_of(repository)[1] is True


def test_an_exported_tree_inside_a_repository_has_no_commit(repository: Path) -> None:
    exported = repository / "exported"
    exported.mkdir()

    assert commit_of(exported) == (UNKNOWN, None)


def test_a_hooks_variables_do_not_lead_to_another_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    exported = tmp_path / "exported"
    exported.mkdir()

    assert commit_of(exported) == (UNKNOWN, None)


def test_without_commits_or_without_git_there_is_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _git(tmp_path, "init", "-q")
    assert commit_of(tmp_path) == (UNKNOWN, None)

    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(tmp_path) == (UNKNOWN, None)


def test_a_git_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\nexec sleep 60\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(provenance, "_GIT_SECONDS", 0.1)

    assert commit_of(tmp_path) == (UNKNOWN, None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "processor\t: 0\nmodel name\t: AMD EPYC\nprocessor\t: 1\nmodel name\t: other\n",
            "AMD EPYC",
        ),
        ("processor\t: 0\nBogoMIPS\t: 1\n", os.uname().machine),
        (None, os.uname().machine),
    ],
)
def test_a_processor_has_a_model_or_at_least_an_architecture(
    tmp_path: Path, text: str | None, found: str
) -> None:
    described = tmp_path / "cpuinfo"
    if text is not None:
        described.write_text(text)

    assert processor(described) == found


def test_the_version_is_the_one_of_pyproject(capsys: pytest.CaptureFixture[str]) -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert (table["name"], ended.value.code) == ("metronome", 0)
    assert capsys.readouterr().out == f"metronome {table['version']}\n"


def test_a_guest_kernel_is_named_by_its_version_and_ours_by_its_key_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own, stock = kernel_store.kernels() / "0123-4567" / "linux", tmp_path / "linux.uml"
    for path in (own, stock):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#!/bin/sh\n[ "$1" = --version ] && echo 6.1.9\n')
        path.chmod(0o755)

    assert kernel.identity(own) == "6.1.9 (0123-4567)"
    assert kernel.identity(stock) == "6.1.9 (linux.uml)"
    assert kernel.identity(tmp_path / "absent") == "unknown (absent)"


def test_a_native_run_names_the_hosts_kernel_and_a_guest_the_one_it_boots(
    tmp_path: Path,
) -> None:
    guest = Guest("virtual", seed=1)
    guest._kernel = str(tmp_path / "some-kernel")

    assert Native().kernel_identity() == os.uname().release
    assert guest.kernel_identity() == "unknown (some-kernel)"


def test_what_is_collected_is_all_there() -> None:
    found = collect("lenet5.c", "6.1.9 (some)")

    assert (found.schema, found.engine, found.kernel) == (SCHEMA, "lenet5.c", "6.1.9 (some)")
    assert found.torch == str(torch.__version__)
    assert UNKNOWN not in (found.version, found.processor)


def test_the_page_explains_every_key_and_the_schemas_up_to_this_one() -> None:
    page = (ROOT / "docs" / "provenance.md").read_text()
    rows = re.findall(r"^\| `?(\w+)`? \|", page, re.MULTILINE)

    assert [key for key in rows if key in asdict(PROVENANCE)] == list(asdict(PROVENANCE))
    assert [int(key) for key in rows if key.isdigit()] == list(range(1, SCHEMA + 1))


# Recording it


def test_the_plan_carries_it_and_nothing_else_of_a_run_changes(tmp_path: Path) -> None:
    prepared = prepare(loader.check(star_scenario(clients=1)), None, tmp_path / "run")

    prepared.with_provenance(PROVENANCE).write()

    text = (tmp_path / "run" / "plan.json").read_text()
    assert json.loads(text)["provenance"] == json.loads(json.dumps(asdict(PROVENANCE)))
    assert Plan.from_json(text) == replace(prepared.plan, provenance=PROVENANCE)


def test_the_summary_has_it_beside_the_engine(tmp_path: Path) -> None:
    FakeRun(tmp_path, rounds=1)
    facts = RunFacts(
        name="fake",
        protocol="fedavg",
        clock="virtual",
        backend="guest",
        seed=1,
        target_accuracy=None,
        host_seconds=1.0,
        lost=[],
        failure=None,
        engine=PROVENANCE.engine,
        provenance=PROVENANCE,
    )

    finish(tmp_path, facts)

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["provenance"] == json.loads(json.dumps(asdict(PROVENANCE)))
    assert summary["engine"] == PROVENANCE.engine
