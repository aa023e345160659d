"""The spool of a run, and the clearing of those whose runner is dead."""

import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from contracts.errors import BadInput
from contracts.project import ROOT
from netem import places, spool
from netem.places import Place
from netem.spool import LockedSpool, clear_abandoned
from tests.support.lines import PATIENCE, aside
from tests.support.only_places import only_place
from tests.support.processes import alive
from tests.support.scenario_trees import planned, star_scenario

# A runner that makes a spool, starts a session with a child in it, and says the processes' ids.
RUNNER = """
import subprocess, sys, time
from pathlib import Path
from netem import places, spool
places.candidates = lambda: [Path(sys.argv[1])]
own = spool.LockedSpool("dead run")
leader = subprocess.Popen(
    ["sh", "-c", "sleep 300 & echo $!; wait"], stdout=subprocess.PIPE, start_new_session=True
)
own.remember_session(leader.pid)
member = int(leader.stdout.readline())
print(own.root, leader.pid, member, flush=True)
time.sleep(300)
"""


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A stand-in for /dev/shm, so that nobody's real runs are touched."""
    with only_place(monkeypatch) as place:
        yield place


@pytest.fixture
def session() -> Iterator["subprocess.Popen[bytes]"]:
    """Some process that leads a session of its own."""
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def abandon(run: LockedSpool) -> None:
    """What the kernel does for a runner that dies."""
    run._held.close()


def test_a_spool_has_its_folders_and_goes_without_a_trace(shared: Path) -> None:
    run = LockedSpool("some run/1")

    assert run.root.parent == shared
    assert run.root.name == f"metronome-{os.getuid()}-some_run_1-{os.getpid()}"
    assert {path.name for path in run.root.iterdir()} == {"lock", "jobs", "results", "evaluate"}
    run.remove()
    assert list(shared.iterdir()) == []


def test_only_its_user_can_read_a_spool(shared: Path) -> None:
    run = LockedSpool("private")

    assert run.root.stat().st_mode & 0o777 == 0o700


def test_a_very_long_name_is_cut(shared: Path) -> None:
    run = LockedSpool("r" * 300)

    assert len(str(run.root.relative_to(shared))) < 90
    assert "rrrrrrrr" in run.root.name


def test_the_longest_socket_of_a_spool_is_bound_in_the_longest_place(
    monkeypatch: pytest.MonkeyPatch, shared: Path
) -> None:
    longest = shared / ("x" * (places.LONGEST_PATH - len(str(shared)) - 1))
    longest.mkdir()
    monkeypatch.setattr(places, "candidates", lambda: [longest])
    run = LockedSpool("r" * 300)
    run.guest_console.parent.mkdir()

    with socket.socket(socket.AF_UNIX) as console:
        console.bind(str(run.guest_console))

    assert "rrrrrrrr" in run.root.name


def test_the_room_that_a_spool_needs_grows_with_nodes_and_models() -> None:
    few, many = planned(star_scenario(clients=2)), planned(star_scenario(clients=200))

    assert spool.room_needed(many) - spool.room_needed(few) >= 2 * 198 * few.model_bytes


def test_a_spool_goes_where_there_is_room(monkeypatch: pytest.MonkeyPatch, shared: Path) -> None:
    room = {shared / "small": 1000, shared / "large": 9000}
    for place in room:
        place.mkdir()
    monkeypatch.setattr(places, "candidates", lambda: list(room))
    monkeypatch.setattr(places, "look", lambda path: Place(path, True, room[path]))

    assert LockedSpool("run", 1000).root.parent.name == "small"
    assert LockedSpool("run", 1001).root.parent.name == "large"


def test_spools_are_cleared_away_in_every_place(
    monkeypatch: pytest.MonkeyPatch, shared: Path
) -> None:
    first, second = shared / "first", shared / "second"
    made = []
    for place in (second, first):
        place.mkdir()
        monkeypatch.setattr(places, "candidates", lambda place=place: [place])
        made.append(LockedSpool("run"))
        abandon(made[-1])
    monkeypatch.setattr(places, "candidates", lambda: [shared / "gone", first, second])

    assert len(clear_abandoned()) == 2

    assert not any(run.root.exists() for run in made)


def test_no_room_or_permission_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(places, "candidates", lambda: [tmp_path / "not there"])

    with pytest.raises(BadInput, match=r"not there \(no such file or directory\); free some room"):
        LockedSpool("run")


def test_a_name_that_somebody_has_taken_is_told_as_that(shared: Path) -> None:
    own = LockedSpool("mine")
    own.remove()
    own.root.mkdir()

    with pytest.raises(BadInput, match=r"is there already, and not this run's: somebody has taken"):
        LockedSpool("mine")


def test_removing_ends_the_remembered_session(
    shared: Path, session: "subprocess.Popen[bytes]"
) -> None:
    run = LockedSpool("run")
    run.remember_session(session.pid)

    run.remove()

    assert not alive(session.pid)


def test_a_dead_process_that_nobody_reaps_is_not_waited_for(shared: Path) -> None:
    program = """import subprocess, time
print(subprocess.Popen(["sleep", "300"], start_new_session=True).pid, flush=True)
time.sleep(300)"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    leader = int(parent.stdout.readline())
    run = LockedSpool("run")
    run.remember_session(leader)

    removing = aside(run.remove)
    removing.result(PATIENCE)

    assert psutil.Process(leader).status() == psutil.STATUS_ZOMBIE
    parent.kill()
    parent.communicate()


def test_a_live_runners_spool_and_sessions_are_left_alone(
    shared: Path, session: "subprocess.Popen[bytes]"
) -> None:
    run = LockedSpool("alive")
    run.remember_session(session.pid)

    assert clear_abandoned() == []

    assert run.root.is_dir()
    assert session.poll() is None


def test_a_killed_runners_spool_and_whole_session_are_swept(
    shared: Path, session: "subprocess.Popen[bytes]"
) -> None:
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(shared)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert runner.stdout is not None
    path, leader, member = runner.stdout.readline().split()
    assert clear_abandoned() == [], "it is alive"
    runner.kill()
    runner.wait()

    cleared = clear_abandoned()

    assert cleared == [Path(path).name]
    assert not Path(path).exists()
    assert not alive(int(leader)) and not alive(int(member))
    assert session.poll() is None, "nobody else's session"


def test_the_members_are_ended_also_when_their_leader_is_gone(shared: Path) -> None:
    leader = subprocess.Popen(
        ["sh", "-c", "sleep 300 & echo $!; wait"], stdout=subprocess.PIPE, start_new_session=True
    )
    assert leader.stdout is not None
    member = int(leader.stdout.readline())
    run = LockedSpool("run")
    run.remember_session(leader.pid)
    leader.kill()
    leader.wait()
    abandon(run)

    clear_abandoned()

    deadline = time.monotonic() + PATIENCE
    while alive(member) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(member)


def test_a_process_that_was_given_a_dead_leaders_id_is_left_alone(
    shared: Path, session: "subprocess.Popen[bytes]"
) -> None:
    run = LockedSpool("run")
    (run.root / "sessions").write_text(f"{session.pid} 1\n")  # started at another time
    abandon(run)

    assert clear_abandoned() == [run.root.name]

    assert session.poll() is None


def test_a_leader_that_was_gone_before_it_was_remembered_hurts_nobody(
    shared: Path, session: "subprocess.Popen[bytes]"
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    run = LockedSpool("run")
    run.remember_session(gone.pid)
    abandon(run)

    assert clear_abandoned() == [run.root.name]


def test_a_directory_without_a_lock_is_swept(shared: Path) -> None:
    half_made = shared / f"metronome-{os.getuid()}-run-1"
    half_made.mkdir()

    assert clear_abandoned() == [half_made.name]
    assert not half_made.exists()


def test_what_is_not_ours_by_name_is_left_alone(shared: Path) -> None:
    others = [shared / name for name in ("metronome-99999-run-1", "torch_1", "sem.x")]
    for path in others:
        path.mkdir()

    assert clear_abandoned() == []
    assert all(path.exists() for path in others)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_another_user_made_under_our_name_is_left_alone(
    shared: Path, session: "subprocess.Popen[bytes]"
) -> None:
    trap = shared / f"metronome-{os.getuid()}-trap-1"
    trap.mkdir()
    (trap / "sessions").write_text(f"{session.pid} {spool._started(session.pid)}\n")
    os.chown(trap, 65534, 65534)

    assert clear_abandoned() == []
    assert session.poll() is None


def test_a_sweep_that_finds_a_spool_just_being_made_does_not_break_it(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_at_first = fcntl.flock
    cleared: list[str] = []

    def clear_before_the_first_lock(*arguments: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock_at_first)
        cleared.extend(clear_abandoned())
        lock_at_first(*arguments)

    monkeypatch.setattr(fcntl, "flock", clear_before_the_first_lock)

    run = LockedSpool("run")

    assert cleared == [run.root.name]
    assert (run.root / "jobs").is_dir()
    assert clear_abandoned() == []


def test_many_sweeps_at_once_sweep_each_directory_once(shared: Path) -> None:
    for number in range(20):
        abandon(LockedSpool(f"run{number}"))
    cleared: list[str] = []
    threads = [threading.Thread(target=lambda: cleared.extend(clear_abandoned())) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert set(cleared) == {f"metronome-{os.getuid()}-run{n}-{os.getpid()}" for n in range(20)}
    assert list(shared.iterdir()) == []
