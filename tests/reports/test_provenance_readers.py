"""Readers of runs of other versions: refused, read with a sentence, or compared by differences."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from cli.__main__ import main as start
from cli.commands import main
from contracts.errors import BadInput
from contracts.provenance import UNKNOWN, Provenance
from contracts.schema import SCHEMA
from reports.comparison.groups import compare_runs
from reports.comparison.runs import read_runs
from reports.records.provenance import read_provenance
from reports.records.run_records import RunRecords
from tests.support.compared_runs import PROVENANCE, scenario, write_run
from tests.support.fake_run import FakeRun

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
            {"python": "3.13.5 (main, another day)"},
            "runs of different builds of Python stand side by side: 3.11.2 (main, some day) "
            "(method0) and 3.13.5 (main, another day) (method1)",
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
