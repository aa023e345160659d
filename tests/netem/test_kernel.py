"""The time-travel kernel: built once, kept whole or not at all, and its hour passes at once."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts.errors import BadInput
from contracts.project import ROOT
from netem import host_files
from netem.guest import kernel, kernel_build, kernel_store, patches, sources
from netem.guest.kernel_build import Report
from netem.guest.sources import Source
from netem.places import choose
from tests.support.waiting import wait_until

# A process that wants the kernel; its build takes as long as the test lets it.
BUILDER = """
import sys, time
from pathlib import Path
from netem.guest import kernel, kernel_build, sources
go, count, source = map(Path, sys.argv[1:4])
def build(source, place, log, report):
    with count.open("a") as file:
        file.write("x")
    report("kernel: compiling, 40%")
    kernel_build.run(["sh", "-c", f"echo $$ > {count}.pid; exec sleep 60"], place, log) if (
        "slow" in sys.argv) else None
    while not go.exists():
        time.sleep(0.01)
    (place / "linux").write_text("kernel")
    return place / "linux"
kernel_build.build, sources.SOURCES = build, source.parent
print(kernel.ensure(lambda line: print(line, flush=True)), flush=True)
"""


def quiet(line: str) -> None:
    pass


def source(place: Path) -> Path:
    """The only kernel source of a test's machine."""
    return place / "linux-source-6.1.tar.xz"


def key() -> str:
    """The name of the kernel that would be built."""
    return kernel_store.key(sources.all_sources()[0])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and a source of our own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source(tmp_path).write_text("source")
    monkeypatch.setattr(sources, "SOURCES", tmp_path)
    return tmp_path / "cache" / "metronome" / "kernels"


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A build that takes no time; the list tells where it was done."""
    places: list[Path] = []

    def build(source: Source, place: Path, log: Path, report: Report) -> Path:
        places.append(place)
        (place / "linux").write_text("kernel")
        return place / "linux"

    monkeypatch.setattr(kernel_build, "build", build)
    return places


@pytest.fixture
def start(tmp_path: Path, cache: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts processes that want the kernel."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> "subprocess.Popen[str]":
        arguments = [str(tmp_path / name) for name in ("go", "count", "linux-source-6.1.tar.xz")]
        process = subprocess.Popen(
            [sys.executable, "-c", BUILDER, *arguments, *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_second_use_builds_nothing_and_says_nothing(cache: Path, builds: list[Path]) -> None:
    first = kernel.ensure(quiet)
    said: list[str] = []

    second = kernel.ensure(said.append)

    assert first == second == kernel.cached()
    assert first.read_text() == "kernel"
    assert len(builds) == 1
    assert said == []


def test_key_follows_configuration_options_patch_and_source(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [key()]
    changed = tmp_path / "kernel.config"
    changed.write_text(kernel_build.CONFIG.read_text() + "\n# changed\n")
    monkeypatch.setattr(kernel_build, "CONFIG", changed)
    keys.append(key())
    shutil.copytree(patches.PATCHES, tmp_path / "patches")
    with (tmp_path / "patches" / "clock.6.1.patch").open("a") as patch:
        patch.write("\n")
    monkeypatch.setattr(patches, "PATCHES", tmp_path / "patches")
    keys.append(key())
    monkeypatch.setattr(kernel_build, "COMPILER_OPTIONS", "-O3")
    keys.append(key())
    source(tmp_path).write_text("a newer source")
    keys.append(key())

    assert len(set(keys)) == 5
    assert key() == keys[-1]


def test_kernel_is_found_after_its_source_was_removed(cache: Path, builds: list[Path]) -> None:
    path = kernel.ensure(quiet)
    source(sources.SOURCES).unlink()

    assert kernel.ensure(quiet) == path
    assert len(builds) == 1


def test_interrupted_build_leaves_nothing_and_the_next_one_succeeds(
    cache: Path, builds: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(source: Source, place: Path, log: Path, report: Report) -> Path:
        (place / "half").write_text("")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(kernel_build, "build", interrupted)
        kernel.ensure(quiet)

    assert kernel.cached() is None
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
    assert kernel.ensure(quiet).exists()


def test_two_processes_build_it_once(
    tmp_path: Path, start: Callable[..., "subprocess.Popen[str]"]
) -> None:
    builder = start()
    assert line_of(builder) == "kernel: compiling, 40%"
    waiter = start()
    assert line_of(waiter) == "kernel: another process is building it; waiting"
    assert line_of(waiter) == "kernel: compiling, 40% (by another process)"

    (tmp_path / "go").touch()

    paths = {process.communicate(timeout=20)[0].split()[-1] for process in (builder, waiter)}
    assert [Path(path).read_text() for path in paths] == ["kernel"]
    assert (tmp_path / "count").read_text() == "x"


def test_killed_builder_ends_its_tools_and_the_next_one_sweeps(
    tmp_path: Path,
    cache: Path,
    builds: list[Path],
    start: Callable[..., "subprocess.Popen[str]"],
) -> None:
    builder = start("slow")
    tool = tmp_path / "count.pid"
    wait_until(lambda: tool.exists() and tool.read_text() != "", 20)
    [left] = cache.glob("*.building")

    builder.kill()
    builder.wait()

    # A zombie is as good as gone: whether init reaps it is not ours to say.
    stat = Path(f"/proc/{tool.read_text().strip()}/stat")
    wait_until(
        lambda: not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z", 20
    )
    assert left.exists()
    assert kernel.cached() is None
    assert kernel.ensure(quiet).read_text() == "kernel"
    assert not left.exists()


def test_interrupt_ends_the_whole_group_of_a_tool(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernel_build.run(
            ["sh", "-c", f"sleep 60 & echo $! > {pid}; echo started; wait"],
            tmp_path,
            tmp_path / "log",
            interrupt,
        )

    stat = Path(f"/proc/{pid.read_text().strip()}/stat")
    wait_until(
        lambda: not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z", 20
    )


def test_options_that_drop_out_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "kernel.config"
    config.write_text("CONFIG_VETH=y\nCONFIG_IPV6=n\nCONFIG_IFB=y\n")
    monkeypatch.setattr(kernel_build, "CONFIG", config)

    with pytest.raises(RuntimeError, match=r"did not take effect: CONFIG_IPV6=n, CONFIG_IFB=y$"):
        kernel_build.check_configuration("CONFIG_VETH=y\nCONFIG_IPV6=y\n# CONFIG_IFB is")
    kernel_build.check_configuration("CONFIG_VETH=y\nCONFIG_IFB=y\n")


def test_missing_tools_and_source_are_one_line_to_paste(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source(sources.SOURCES).unlink()
    absent = {"flex", "bc"}
    monkeypatch.setattr(shutil, "which", lambda name: None if name in absent else f"/bin/{name}")

    with pytest.raises(BadInput, match=r"sudo apt-get install -y flex bc linux-source; or use "):
        kernel.ensure(quiet)

    assert "sudo apt-get install -y flex bc linux-source; or use --clock wall" in kernel.describe()
    assert not list(cache.glob("*.building"))


def test_little_room_is_refused_before_unpacking(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_build, "missing_packages", list)
    monkeypatch.setattr(kernel_build, "ROOM_BYTES", 10**18)

    with pytest.raises(BadInput, match="XDG_CACHE_HOME"):
        kernel.ensure(quiet)


def test_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    with pytest.raises(BadInput, match="set XDG_CACHE_HOME to a directory you can write"):
        kernel.ensure(quiet)


def everything_shown() -> dict[str, str]:
    """Return an environment in which a kernel finds room, and may touch all files."""
    room = str(choose(128 << 20, "it needs").path)
    return {**os.environ, "TMPDIR": room, host_files.VARIABLE: "w /"}


INIT = """#!/bin/sh
mount -t proc proc /proc
zero=$(date +%s)
echo up at $zero, $(head -c 8 /dev/urandom | od -An -tx1)
sleep 3600
echo slept $(($(date +%s) - zero))
echo o > /proc/sysrq-trigger
sleep 60
"""


@pytest.mark.emulation
@pytest.mark.timeout(1800)
def test_an_hour_of_sleep_passes_at_once_and_every_boot_is_the_same(tmp_path: Path) -> None:
    path = kernel.ensure(print)
    init = tmp_path / "init"
    init.write_text(INIT)
    init.chmod(0o755)

    outputs = []
    for seed in (1, 1, 2):
        started = time.monotonic()
        command = [
            *(str(path), "mem=128M", "time-travel=inf-cpu", "time-travel-start=1000000000000"),
            *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}"),
            *("con0=null,fd:1", "con=null", "quiet", f"uml_dir={tmp_path}"),
            f"metronome.seed={seed}",
        ]
        done = subprocess.run(
            command,
            env=everything_shown(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert time.monotonic() - started < 30
        outputs.append([line for line in done.stdout.splitlines() if line.startswith(("up", "sl"))])

    assert outputs[0][0].startswith("up at 1000,")
    assert outputs[0][1] == "slept 3600"
    assert outputs[0] == outputs[1]
    assert outputs[0] != outputs[2]


@pytest.mark.emulation
@pytest.mark.timeout(1800)
def test_killed_kernel_takes_its_helper_processes_along(tmp_path: Path) -> None:
    init = tmp_path / "init"
    # The second process says that it is up: while the kernel makes one, that one is not yet bound
    # to it, and only the guard, which ends the whole group, would find it.
    init.write_text("#!/bin/sh\n(echo ready; while :; do :; done) &\nwait\n")
    init.chmod(0o755)
    process = subprocess.Popen(
        [
            *(str(kernel.ensure(print)), "mem=128M", "time-travel=inf-cpu", "root=/dev/root"),
            *("rootfstype=hostfs", "rootflags=/", "ro", f"init={init}", "con0=null,fd:1"),
            *("con=null", "quiet", f"uml_dir={tmp_path}"),
        ],
        env=everything_shown(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    while "ready" not in line_of(process):
        assert process.poll() is None
    assert len(group_members(process.pid)) > 1

    process.send_signal(signal.SIGKILL)
    process.wait(10)

    wait_until(lambda: group_members(process.pid) == [], 20)
    assert process.stdout is not None
    process.stdout.close()


def group_members(group: int) -> list[str]:
    """The processes of a group that still run."""
    fields = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, member_of = stat.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(member_of) == group and state not in "ZX":
            fields.append(stat.parent.name)
    return fields


@pytest.mark.emulation
@pytest.mark.timeout(1800)
def test_a_kernel_that_was_not_told_what_it_may_show_shows_nothing(tmp_path: Path) -> None:
    environment = everything_shown()
    del environment[host_files.VARIABLE]

    done = subprocess.run(
        [
            *(str(kernel.ensure(print)), "mem=128M", "root=/dev/root", "rootfstype=hostfs"),
            *("rootflags=/", "ro", "con=null", f"uml_dir={tmp_path}"),
        ],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )

    assert f"{host_files.VARIABLE} says what the guest may see of the host" in done.stderr
    assert done.returncode != 0  # it has no root
