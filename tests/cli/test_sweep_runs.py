"""Many runs as child processes: several at once, broken ones reported, none left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.sweep import runs
from cli.sweep.child import RunOutcome
from cli.sweep.directories import is_finished, locked_directory
from cli.sweep.runs import metronome_command, run_all
from contracts.errors import BadInput
from contracts.project import ROOT
from scenarios import loader
from tests.support.lines import PATIENCE
from tests.support.processes import alive
from tests.support.sweep_stand_ins import (
    FAILS,
    FINISHES_SILENTLY,
    GOES_ON,
    Programs,
    Watcher,
    process_id,
    some_runs,
)
from tests.support.waiting import wait_until

# A sweep of one scenario file into a directory, its runs doing what a line of shell says.
DRIVER = """
import signal, sys
from cli.sweep.command import sweep
signal.signal(signal.SIGTERM, signal.default_int_handler)
_, scenario, out, program = sys.argv
def command(place):
    return ["sh", "-c", program, str(place.scenario), str(place.directory)]
sys.exit(sweep(scenario, None, "1,2,3", [], 2, out, None, command))
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_POLL_SECONDS", 0.01)


def go(out: Path, programs: Programs, watcher: Watcher, count: int = 2, jobs: int = 2) -> None:
    with locked_directory(out) as lock:
        run_all(some_runs(count), out, jobs, programs, watcher, lock)


def failures(outcomes: list[RunOutcome]) -> dict[str, str | None]:
    return {ended.run.id: ended.failure for ended in outcomes}


def test_every_run_gets_its_resolved_scenario_and_leaves_its_log(tmp_path: Path) -> None:
    watcher = Watcher()

    go(tmp_path, Programs(), watcher, count=3)

    assert failures(watcher.outcomes) == {"seed1": None, "seed2": None, "seed3": None}
    assert watcher.outcomes[0].summary["final_accuracy"] == 0.5
    for run in some_runs(3):
        assert loader.load(str(tmp_path / f"{run.id}.toml")) == run.scenario
        assert "round 1/2" in (tmp_path / f"{run.id}.log").read_text()
        assert is_finished(tmp_path, run)


@pytest.mark.parametrize("jobs", [1, 3])
def test_no_more_runs_go_on_at_once_than_jobs(tmp_path: Path, jobs: int) -> None:
    watcher = Watcher()

    go(tmp_path, Programs("sleep 0.1"), watcher, count=5, jobs=jobs)

    assert watcher.most == jobs
    assert len(watcher.outcomes) == 5


def test_a_broken_run_is_reported_with_its_last_line_and_the_rest_go_on(tmp_path: Path) -> None:
    watcher = Watcher()
    own = {
        "seed1": FAILS,
        "seed2": "echo metronome: no such data set >&2; exit 2",
        "seed3": "kill -9 $$",
        "seed4": "exit 0",
    }

    go(tmp_path, Programs(own=own), watcher, count=5, jobs=1)

    told = failures(watcher.outcomes)
    log = tmp_path / "seed1.log"
    assert told["seed1"] == f"the run failed: no link (exit code 1; see {log})"
    assert told["seed2"] is not None and "no such data set (exit code 2;" in told["seed2"]
    assert told["seed3"] is not None and "it said nothing (ended by signal 9;" in told["seed3"]
    assert told["seed4"] is not None, "no records, though it says that all is well"
    assert told["seed5"] is None


def wait_for(file: Path) -> str:
    """Return a line of shell that waits for a file, for no longer than a test may take."""
    return f'for _ in $(seq 6000); do [ -e "{file}" ] && break; sleep 0.01; done'


WRITES_DOWN = """
for i in 1 2; do
  printf '{"round": %d, "rounds": 2, "elapsed": %d, "seconds_left": 4, "accuracy": 0.5, \
    "accuracy_round": %d}' $i $i $((i - 1)) > "$METRONOME_PROGRESS.new"
  mv "$METRONOME_PROGRESS.new" "$METRONOME_PROGRESS"
  echo "+---"
  sleep 0.1
done"""


def test_progress_is_the_last_round_that_it_wrote_down(tmp_path: Path) -> None:
    out, seen = tmp_path / "out", tmp_path / "seen"
    seen.mkdir()
    watcher = Watcher(seen=seen)

    go(out, Programs(WRITES_DOWN.replace("sleep 0.1", wait_for(seen / "$i"))), watcher, count=1)

    assert watcher.words == {
        "round 1/2  accuracy 50.0 % (untrained)  elapsed 1.0 s  about 4.0 s left",
        "round 2/2  accuracy 50.0 % (round 1)  elapsed 2.0 s",
    }
    assert sorted(path.name for path in out.iterdir()) == [".lock", "seed1.log", "seed1.toml"]


def test_words_that_look_like_a_round_do_not_hide_what_it_wrote_down(tmp_path: Path) -> None:
    watcher = Watcher()

    go(tmp_path, Programs(f"{WRITES_DOWN}; echo round 7/9 ; sleep 0.1"), watcher, count=1)

    assert not any("7/9" in words for words in watcher.words)


def test_no_progress_is_left_behind_by_runs_that_are_interrupted(tmp_path: Path) -> None:
    goes_on = f"{WRITES_DOWN}; exec sleep 300"

    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, Programs(goes_on), Watcher(interrupt_after=2))

    assert not list(tmp_path.glob("*progress*"))


def test_before_the_first_round_progress_is_whatever_it_said_last(tmp_path: Path) -> None:
    watcher = Watcher(seen=tmp_path)
    program = f"echo starting the nodes; echo; {wait_for(tmp_path / '1')}"

    go(tmp_path / "out", Programs(program), watcher, count=1)

    assert watcher.words == {"starting the nodes"}


def test_what_an_attempt_left_that_broke_is_cleared_before_the_next(tmp_path: Path) -> None:
    go(tmp_path, Programs(FAILS), Watcher())
    watcher = Watcher()

    go(tmp_path, Programs(), watcher)

    assert failures(watcher.outcomes) == {"seed1": None, "seed2": None}
    assert not (tmp_path / "seed1" / "plan.json").exists()


def test_ctrl_c_ends_the_runs_and_keeps_those_that_finished(tmp_path: Path) -> None:
    programs = Programs(GOES_ON, own={"seed1": FINISHES_SILENTLY})

    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, programs, Watcher(interrupt_after=2), count=4)

    running = [process_id(tmp_path / name) for name in ("seed2", "seed3")]
    assert not any(pid is None or alive(pid) for pid in running)
    assert programs.started == ["seed1", "seed2", "seed3"]
    assert [is_finished(tmp_path, run) for run in some_runs(4)] == [True, False, False, False]


def test_a_run_that_does_not_listen_is_killed_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(runs, "clear_abandoned", lambda: None)
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, Programs(f"trap '' TERM; {GOES_ON}"), Watcher(interrupt_after=1), count=1)

    pid = process_id(tmp_path / "seed1")
    assert pid is not None and not alive(pid)
    assert signal.getsignal(signal.SIGINT) == before


def test_a_place_that_cannot_be_written_ends_the_sweep_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "seed2.toml").mkdir()

    with pytest.raises(BadInput, match=r"seed2: cannot be run \(.*Is a directory.*\); "):
        go(tmp_path, Programs(GOES_ON), Watcher())

    pid = process_id(tmp_path / "seed1")
    assert pid is None or not alive(pid), "what had been started is ended"


def test_the_child_is_this_program_told_to_run_the_scenario(tmp_path: Path) -> None:
    from cli.sweep.directories import run_paths

    found = run_paths(tmp_path, some_runs()[0])

    command = metronome_command(Path("/data"))(found)

    paths = [str(tmp_path / "seed1.toml"), "--out", str(tmp_path / "seed1"), "--data", "/data"]
    assert command == [sys.executable, "-m", "cli", "run", *paths]
    assert (ROOT / "cli" / "__main__.py").exists()


# The sweep as a process of its own


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "one.toml"
    file.write_text(loader.dump(some_runs()[0].scenario))
    return file


Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path, scenario: Path) -> Iterator[Start]:
    processes = []

    def started(program: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(scenario), str(tmp_path / "out"), program],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        processes.append(process)
        return process

    yield started
    for process in processes:
        process.kill()
        process.communicate()


def two_are_under_way(out: Path) -> bool:
    return all(process_id(out / f"small-seed{seed}") is not None for seed in (1, 2))


def pids(out: Path) -> list[int]:
    found = [process_id(out / f"small-seed{seed}") for seed in (1, 2)]
    return [pid for pid in found if pid is not None]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_says_that_the_same_command_goes_on(
    tmp_path: Path, start: Start, number: signal.Signals
) -> None:
    process = start(GOES_ON)
    wait_until(lambda: two_are_under_way(tmp_path / "out"), 60)

    process.send_signal(number)
    output, _ = process.communicate(timeout=60)

    assert process.returncode == 130, output
    assert "interrupted; 0 of 3 runs are finished, and the same command goes on" in output
    assert not any(map(alive, pids(tmp_path / "out")))


def test_a_killed_sweep_takes_its_runs_along_and_a_new_one_waits_for_them(
    tmp_path: Path, start: Start
) -> None:
    process = start(GOES_ON)
    wait_until(lambda: two_are_under_way(tmp_path / "out"), 60)

    with (
        pytest.raises(BadInput, match="another sweep is at work here"),
        locked_directory(tmp_path / "out"),
    ):
        pass
    process.kill()

    wait_until(lambda: not any(map(alive, pids(tmp_path / "out"))), PATIENCE)
    with locked_directory(tmp_path / "out"):
        pass
