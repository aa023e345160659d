"""What runs inside can touch the run directory and the spool, and nothing else of the machine."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.project import ROOT
from contracts.run_directory import RunDirectory
from netem.backends import Backend
from netem.backends.guest import Guest
from netem.backends.native import Native
from netem.spool import LockedSpool
from tests.support import emulated, trespasser, trespassing_method
from tests.support.scenario_trees import planned, star_scenario

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.timeout(300)]

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="native runs need root")
BACKENDS: dict[str, Callable[[], Backend]] = {
    "guest": lambda: Guest("virtual", seed=1, module=trespasser.__name__),
    "native": lambda: Native(module=trespasser.__name__),
}


class Trespass:
    """What was tried on a backend, what became of it, and what is outside afterwards."""

    def __init__(self, backend: str, folder: Path) -> None:
        self.run, self._outside = folder / "run", folder / "outside"
        self._outside.mkdir()
        (self._outside / "secret").write_text(trespasser.SECRET)
        (self.run / "logs").mkdir(parents=True)
        self.files = RunDirectory(self.run)
        self.files.plan.write_text("the plan")
        before = self._seen_outside()
        runs, spool = BACKENDS[backend](), LockedSpool("trespasser")
        runs.prepare(planned(star_scenario(clients=1)), print)
        process = runs.start(self.run, spool, folder / "log", interactive=False)
        try:
            spool.remember_session(process.pid)
            process.wait(200)
            self.sessions = spool.sessions.read_text()
            left = [*self.run.rglob("*"), *spool.root.rglob("*")]
            self.modes = {path: path.lstat().st_mode for path in left}
        finally:
            runs.end(process)
            spool.remove()
        self.changed = self._seen_outside() != before
        log = (folder / "log").read_text()
        assert (self.run / "found.json").exists(), log
        self.found = json.loads((self.run / "found.json").read_text())

    def _seen_outside(self) -> object:
        usr = Path("/usr").stat()
        names = sorted(self._outside.iterdir()), sorted((ROOT / "netem").glob("*.py"))
        return names, (self._outside / "secret").read_text(), usr.st_mode, usr.st_ctime_ns

    def succeeded(self, who: str) -> dict[str, str]:
        return {name: how for name, how in self.found[who].items() if how.startswith("done")}


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Trespass:
    return Trespass("guest", tmp_path_factory.mktemp("guest"))


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Trespass:
    return Trespass("native", tmp_path_factory.mktemp("native"))


def test_not_even_root_in_the_guest_reaches_the_host(guest: Trespass) -> None:
    assert len(guest.found["root"]) > 30
    assert guest.succeeded("root") == {}


def test_a_node_in_the_guest_has_no_rights_that_it_does_not_need(guest: Trespass) -> None:
    assert len(guest.found["node"]) > len(guest.found["root"])
    assert guest.succeeded("node") == {}


@NEEDS_ROOT
def test_a_native_node_reaches_nothing_of_the_machine(native: Trespass) -> None:
    assert len(native.found["node"]) > 40
    assert native.succeeded("node") == {}


@pytest.mark.parametrize(
    "options",
    [("--clock", "virtual"), pytest.param(("--backend", "native"), marks=NEEDS_ROOT)],
    ids=["guest", "native"],
)
def test_a_plug_in_in_a_node_of_a_real_run_reaches_nothing(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text(trespasser.SECRET)
    scenario = emulated.STAR.replace("fedavg", "trespassing").replace("rounds = 2", "rounds = 1")

    run = emulated.run(scenario, tmp_path, "--plugin", trespassing_method.__file__, *options)

    assert run.code == 0, run.output
    said = RunDirectory(run.directory).network_log.read_text()
    tried = [
        json.loads(line.partition(trespassing_method.SAYING)[2])
        for line in said.splitlines()
        if trespassing_method.SAYING in line
    ]
    assert len(tried) == 2  # clients
    for found in tried:
        assert len(found) > 40
        assert [name for name, how in found.items() if how.startswith("done")] == []


@pytest.mark.parametrize("backend", ["guest", pytest.param("native", marks=NEEDS_ROOT)])
def test_the_host_finds_its_own_files_as_they_were(
    backend: str, request: pytest.FixtureRequest
) -> None:
    tried: Trespass = request.getfixturevalue(backend)

    assert not tried.changed
    assert tried.files.plan.read_text() == "the plan"
    assert tried.files.logs.is_dir()
    assert trespasser.NOBODYS_SESSION not in tried.sessions
    assert (tried.run / "to move").read_text() == "made inside"  # so writing as such works


def test_the_guest_leaves_nothing_but_files_and_directories(guest: Trespass) -> None:
    plain = (stat.S_IFREG, stat.S_IFDIR)
    odd = {path: mode for path, mode in guest.modes.items() if stat.S_IFMT(mode) not in plain}
    runs_as_owner = [path for path, mode in guest.modes.items() if mode & 0o7000]

    assert len(guest.modes) > 5
    assert (odd, runs_as_owner) == ({}, [])
