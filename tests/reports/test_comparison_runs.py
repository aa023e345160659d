"""Which directories are runs, what is read back from them, and what they are called."""

import json
from pathlib import Path

import pytest

from contracts.errors import BadInput
from reports.comparison.labels import distinct_labels, identity
from reports.comparison.runs import read_runs
from scenarios import loader
from tests.support.compared_runs import scenario, write_run


def test_runs_are_found_at_any_depth_and_taken_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "sweep" / "deep" / "run")
    write_run(tmp_path / "sweep" / "other")
    write_run(tmp_path / "sweep" / ".hidden" / "run")
    (tmp_path / "sweep" / "circle").symlink_to(tmp_path)

    found, left_out = read_runs([str(tmp_path / "sweep"), str(run), str(tmp_path)])

    assert [r.path.name for r in found] == ["run", "other"]
    assert left_out == []


@pytest.mark.parametrize(
    ("place", "what"), [("nowhere", "no such directory"), ("empty", "no run in it")]
)
def test_a_place_without_runs_is_refused(tmp_path: Path, place: str, what: str) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(BadInput, match=what):
        read_runs([str(tmp_path / place)])


@pytest.mark.parametrize(
    ("file", "text", "cause"),
    [
        ("summary.json", None, "no summary.json: it is still running, or was killed"),
        ("summary.json", "{", "summary.json is not valid JSON"),
        ("summary.json", "[]", "summary.json holds no table"),
        ("summary.json", '{"name": "x"}', "summary.json has no protocol"),
        ("scenario.toml", None, "no scenario.toml, so it cannot be said what was run"),
        ("scenario.toml", "= 3", "scenario.toml is not valid TOML"),
        ("rounds.csv", None, "no rounds.csv"),
        ("rounds.csv", "round,accuracy\n1,0.5\n", "rounds.csv is not what a run writes"),
        ("links.csv", "round,tier\n1,x\n", "links.csv is not what a run writes"),
    ],
)
def test_a_run_that_cannot_be_read_is_left_out_with_its_cause(
    tmp_path: Path, file: str, text: str | None, cause: str
) -> None:
    write_run(tmp_path / "good")
    bad = write_run(tmp_path / "bad")
    (bad / "plan.json").write_text("{}")
    if text is None:
        (bad / file).unlink()
    else:
        (bad / file).write_text(text)

    found, (left_out,) = read_runs([str(tmp_path)])

    assert [run.path.name for run in found] == ["good"]
    assert left_out.path == bad
    assert left_out.cause == cause


def test_a_failed_run_is_left_out_with_its_failure(tmp_path: Path) -> None:
    write_run(tmp_path / "bad", failure="client3 died")

    _, (left_out,) = read_runs([str(tmp_path)])

    assert left_out.cause == "failed: client3 died"


def test_a_run_older_than_a_key_of_the_schema_is_like_a_newer_one(tmp_path: Path) -> None:
    resolved = loader.dump(loader.load("quickstart"))
    older = "\n".join(line for line in resolved.splitlines() if not line.startswith("shuffle"))
    for name, text in (("new", resolved), ("old", older)):
        run = write_run(tmp_path / name)
        (run / "scenario.toml").write_text(text)

    (new, old), _ = read_runs([str(tmp_path)])

    assert new.identity == old.identity


def test_a_run_without_a_variant_in_its_summary_is_read(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    summary = json.loads((run / "summary.json").read_text())
    del summary["variant"]
    (run / "summary.json").write_text(json.dumps(summary))

    (found,), _ = read_runs([str(run)])

    assert found.variant == ""


def test_seed_workers_and_the_hosts_own_measured_speed_make_no_difference() -> None:
    here = scenario(seed=1, compute__workers=1, devices__client__profile="host")
    there = scenario(seed=2, compute__workers=2, devices__client__profile="host")
    there["devices"]["client"] |= {"speed": 7e9, "memory": 99}

    assert identity(here) == identity(there)
    assert identity(scenario()) != identity(scenario(devices__client__speed=7e9))


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (
            scenario(links__edge_cloud__profile="lte", links__edge_cloud__rate="9mbit"),
            scenario(),
            ["x edge-cloud=lte", "x edge-cloud=wan"],
        ),
        (
            scenario(links__edge_cloud__rate="9mbit"),
            scenario(),
            ["x edge-cloud.rate=9mbit", "x edge-cloud.rate=20mbit"],
        ),
        (
            scenario(task__concentration=0.1),
            scenario(task__shuffle=True),
            ["x task.concentration=0.1", "x task.shuffle=true"],
        ),
        (
            scenario(devices__client__profile="phone", clock="wall"),
            scenario(),
            ["x clock=wall client=phone", "x clock=virtual client=gpu"],
        ),
    ],
)
def test_equal_labels_get_what_differs(
    one: dict[str, object], other: dict[str, object], words: list[str]
) -> None:
    assert distinct_labels(["x", "x"], [identity(one), identity(other)]) == words


def test_different_labels_stay_short() -> None:
    trees = [scenario(task__concentration=0.1), scenario()]

    assert distinct_labels(["tempo", "fedadp"], [identity(tree) for tree in trees]) == [
        "tempo",
        "fedadp",
    ]
