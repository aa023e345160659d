"""What made a run: how it is found out, where it is recorded, and what its readers say about it."""

import json
import os
import re
import subprocess
import tomllib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from cli.__main__ import main as start
from cli.commands import main
from contracts.errors import BadInput
from contracts.plan import Plan
from contracts.project import ROOT
from contracts.provenance import UNKNOWN, Provenance
from contracts.schema import SCHEMA
from netem.backends.guest import Guest
from netem.backends.native import Native
from netem.guest import kernel
from reports.comparison.groups import compare_runs
from reports.comparison.runs import read_runs
from reports.finish import RunFacts, finish
from reports.records.provenance import read_provenance
from reports.records.run_records import RunRecords
from runner import provenance
from runner.preparation import prepare
from runner.provenance import collect, commit_of, processor
from scenarios import loader
from tests.support.compared_runs import PROVENANCE, scenario, write_run
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
    own, stock = kernel.kernels() / "0123-4567" / "linux", tmp_path / "linux.uml"
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
    prepared = prepare(loader.check(star_scenario(clients=1)), None, str(tmp_path / "run"))

    prepared.with_provenance(PROVENANCE).write()

    text = (tmp_path / "run" / "plan.json").read_text()
    assert json.loads(text)["provenance"] == asdict(PROVENANCE)
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
    assert summary["provenance"] == asdict(PROVENANCE)
    assert summary["engine"] == PROVENANCE.engine


# Reading it


def _written(directory: Path, record: dict[str, Any], name: str = "summary.json") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(json.dumps(record))
    return directory


def test_a_run_that_goes_on_is_known_by_its_plan(tmp_path: Path) -> None:
    _written(tmp_path, {"provenance": asdict(PROVENANCE)}, "plan.json")

    assert read_provenance(tmp_path) == PROVENANCE


def test_a_run_from_before_is_of_schema_1_and_may_name_its_engine(tmp_path: Path) -> None:
    assert read_provenance(tmp_path) == Provenance(schema=1)
    assert read_provenance(_written(tmp_path, {"engine": "torch"})) == Provenance(engine="torch")


@pytest.mark.parametrize("found", [3, {"schema": "2"}, {"version": 7}, {"changed": "no"}])
def test_what_is_not_what_a_run_writes_is_not_known(tmp_path: Path, found: object) -> None:
    assert read_provenance(_written(tmp_path, {"provenance": found})) == Provenance()


def _newer(run: Path) -> None:
    summary = json.loads((run / "summary.json").read_text())
    summary["provenance"] |= {"schema": SCHEMA + 1, "version": "9.9.9"}
    (run / "summary.json").write_text(json.dumps(summary))


@pytest.mark.parametrize("command", ["report", "figures", "compare"])
def test_newer_records_are_refused_in_one_sentence(
    tmp_path: Path,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_run(tmp_path / "good")
    _newer(write_run(tmp_path / "new"))
    monkeypatch.setattr("sys.argv", ["metronome", command, str(tmp_path)])

    assert start() == 2

    assert capsys.readouterr().err == (
        f"metronome: {tmp_path / 'new'}: its records are of schema {SCHEMA + 1}, newer than the "
        f"{SCHEMA} that this Metronome reads; use version 9.9.9 or a later one\n"
    )


@pytest.mark.parametrize("command", ["report", "figures", "compare"])
def test_older_records_are_read_with_a_sentence_about_it(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "old")
    summary = json.loads((run / "summary.json").read_text())
    del summary["provenance"]
    FakeRun(run, rounds=2)
    (run / "summary.json").write_text(json.dumps(summary))

    assert main([command, str(run), "--out", str(tmp_path / "out")]) == 0

    said = capsys.readouterr().out
    assert said.count("warning:") == 1
    assert (
        f"warning: records of the older schema 1, before this Metronome's {SCHEMA}: {run}; "
        "what came later is missing there\n"
    ) in said


def test_rounds_of_the_first_schema_are_understood(tmp_path: Path) -> None:
    """It called the local round `number`."""
    run = tmp_path / "run"
    FakeRun(run, rounds=2)
    rounds = RunRecords(run).rounds
    events = run / "events.jsonl"
    events.write_text(events.read_text().replace('"local_round"', '"number"'))

    assert '"number"' in events.read_text()
    assert RunRecords(run).rounds == rounds
    assert all(sum(row.spent.values()) > row.spent["wait"] for row in rounds[1:])


def test_records_of_this_schema_are_read_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    FakeRun(tmp_path / "run", rounds=2)

    assert main(["report", str(tmp_path / "run")]) == 0

    assert "warning" not in capsys.readouterr().out


def test_older_records_that_cannot_be_read_are_refused_with_a_remedy(tmp_path: Path) -> None:
    _written(tmp_path, {"what": "another plan"}, "plan.json")

    with pytest.raises(
        BadInput,
        match=rf"^{tmp_path}: its records cannot be read \(.*\); they are of the older schema 1: "
        r"run its scenario again, or use the Metronome that wrote them; name another run$",
    ):
        main(["report", str(tmp_path)])


# Comparing it


def _warnings(tmp_path: Path, *made: dict[str, Any], **changes: Any) -> list[str]:
    """What a comparison says of runs of which each was made with these differences."""
    for number, differs in enumerate(made):
        variant = f"method{number}"
        found = asdict(PROVENANCE) | differs
        write_run(tmp_path / f"run{number}", scenario(variant=variant), provenance=found, **changes)
    return list(compare_runs(*read_runs([str(tmp_path)])).warnings)


def test_runs_made_alike_are_compared_without_a_word(tmp_path: Path) -> None:
    assert _warnings(tmp_path, {}, {}) == []


@pytest.mark.parametrize(
    ("differs", "sentence"),
    [
        (
            {"engine": "lenet5.c"},
            "runs of different engines stand side by side: torch (method0) and lenet5.c (method1)",
        ),
        (
            {"kernel": "6.12.1 (other)"},
            "runs of different kernels stand side by side: "
            "6.1.1 (some) (method0) and 6.12.1 (other) (method1)",
        ),
        (
            {"torch": "2.2.0"},
            "runs of different torch versions stand side by side: "
            "2.1.0 (method0) and 2.2.0 (method1)",
        ),
        (
            {"processor": "Another"},
            "runs of different processors stand side by side: "
            "Some Processor (method0) and Another (method1)",
        ),
        (
            {"version": "0.3.0"},
            "runs of different versions stand side by side: 0.2.0 at commit 0123456789ab (method0) "
            "and 0.3.0 at commit 0123456789ab (method1)",
        ),
        (
            {"changed": True},
            "runs of different versions stand side by side: 0.2.0 at commit 0123456789ab (method0) "
            "and 0.2.0 at commit 0123456789ab, changed (method1)",
        ),
        (
            {"commit": UNKNOWN, "changed": None},
            "runs of different versions stand side by side: 0.2.0 at commit 0123456789ab (method0) "
            "and 0.2.0 at commit unknown (method1)",
        ),
    ],
)
def test_a_comparison_says_what_differs_and_whose(
    tmp_path: Path, differs: dict[str, Any], sentence: str
) -> None:
    assert _warnings(tmp_path, {}, differs) == [sentence]


def test_many_groups_are_named_in_short(tmp_path: Path) -> None:
    [sentence] = _warnings(tmp_path, *[{}] * 5, {"engine": "lenet5.c"})

    assert "torch (method0, method1, method2 and 2 more) and lenet5.c (method5)" in sentence


def test_runs_of_one_group_that_differ_are_named_one_by_one(tmp_path: Path) -> None:
    for seed, engine in ((1, "torch"), (2, "lenet5.c")):
        found = asdict(PROVENANCE) | {"engine": engine}
        write_run(tmp_path / f"run{seed}", scenario(seed=seed), provenance=found)

    [sentence] = compare_runs(*read_runs([str(tmp_path)])).warnings

    assert f"torch ({tmp_path / 'run1'}) and lenet5.c ({tmp_path / 'run2'})" in sentence


def test_older_runs_are_compared_with_what_they_do_have_on_record(tmp_path: Path) -> None:
    write_run(tmp_path / "new", scenario(variant="new"))
    write_run(tmp_path / "old", scenario(variant="old"), provenance=None, engine="lenet5.c")

    older, engines = compare_runs(*read_runs([str(tmp_path)])).warnings

    assert older.startswith("records of the older schema 1") and str(tmp_path / "old") in older
    assert engines.endswith("torch (new) and lenet5.c (old)")
