"""One build of the time-travel kernel: unpack a source, patch, configure, compile."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from contracts.errors import BadInput
from netem.guest import configuration, patches, sources
from netem.guest.sources import Source

Report = Callable[[str], None]

CONFIG = Path(__file__).with_name("kernel.config")

# What must be there, and the Debian package that brings it.
NEEDED_COMMANDS = {
    "gcc": "gcc",
    "make": "make",
    "strip": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
}
LIBC_HEADER = Path("/usr/include/stdio.h")
INSTALL = "sudo apt-get install -y"
# Debian's own guest kernel: it has no virtual clock.
STOCK_KERNEL = "linux.uml"
# What tools say when it is not the source that is at fault.
TROUBLE = re.compile(
    r"No space left on device|Disk quota exceeded|Cannot allocate memory|virtual memory exhausted"
    r"|Killed signal terminated program|(?<=\] )(?:Terminated|Killed|Interrupt)$",
    re.MULTILINE,
)

# A build takes this much room while it runs (the unpacked source is most of it).
ROOM_BYTES = 800_000_000
# No warnings, which nobody here would read; and all addresses fit into 31 bits, as nothing is
# loaded later: the large model that UML chooses for modules is slower to compile and to run.
COMPILER_OPTIONS = "-w -mcmodel=small"
# Files that make compiles with our configuration; only the percentages depend on it.
FILES_TO_COMPILE = 620
# A tool that has closed its output, or was told to end, has this long to do so.
END_SECONDS = 10.0
# The parts of the tree that User Mode Linux never compiles. Kconfig and make files stay, they refer
# to each other; leaving the rest packed halves the time of unpacking.
LEFT_PACKED = (
    "Documentation/*/*",
    "LICENSES/*",
    "arch/[!ux]*/*.[chS]",
    "arch/[!ux]*/boot/*",
    "arch/xtensa/*.[chS]",
    "samples/*.[chS]",
    "sound/*.[ch]",
    "tools/perf/*",
    "tools/testing/*",
    *(
        f"drivers/{name}/*.[ch]"
        for name in (
            *("clk", "comedi", "crypto", "gpu", "hid", "hwmon", "iio", "infiniband", "input"),
            *("media", "mfd", "misc", "mtd", "net/can", "net/dsa", "net/ethernet", "net/wireless"),
            *("phy", "pinctrl", "platform", "power", "regulator", "scsi", "soc", "spi", "staging"),
            *("thermal", "usb", "video"),
        )
    ),
    "drivers/[!bcnt]*/*.c",
    *(f"fs/{name}/*.c" for name in ("btrfs", "ext4", "f2fs", "nfs*", "ocfs2", "smb", "xfs")),
    *(f"net/{name}/*.c" for name in ("bluetooth", "mac80211", "netfilter", "sctp", "sunrpc")),
    *(f"net/{name}/*.c" for name in ("rxrpc", "smc", "tipc", "wireless")),
)


# The folders of drivers/ that have something for us.
DRIVERS = "base/ char/ net/ tty/"


def missing_packages() -> list[str]:
    """The Debian packages that a build needs and this machine lacks."""
    missing = [package for name, package in NEEDED_COMMANDS.items() if shutil.which(name) is None]
    if not LIBC_HEADER.exists():
        missing.append("libc6-dev")
    usable = sources.candidates(sources.all_sources())
    return [*missing, *(missing_unpacker(usable[0]) if usable else ["linux-source"])]


def missing_unpacker(source: Source) -> list[str]:
    """The package with the program that unpacks this source, if that program is not here."""
    program, package = sources.PROGRAMS[source.packing]
    return [] if shutil.which(program) else [package]


def wall_clock() -> str:
    """What can be done without a kernel of ours."""
    if shutil.which(STOCK_KERNEL):
        return f"use --clock wall, which takes {STOCK_KERNEL} as it is"
    return "use --clock wall as root, if `./metronome doctor` finds netem in this machine's kernel"


def check_machine(place: Path) -> None:
    """Refuses, before anything is started, what cannot succeed."""
    if os.uname().machine != "x86_64":
        raise BadInput(
            "the guest's kernel: it is built for x86-64, and this machine is "
            f"{os.uname().machine}; {wall_clock()}"
        )
    check_packages(missing_packages())
    if (free := shutil.disk_usage(place).free) < ROOM_BYTES:
        raise BadInput(
            f"{place}: building the guest's kernel takes {ROOM_BYTES // 10**6} MB, "
            f"{free // 10**6} MB are free; make room, or set XDG_CACHE_HOME to another disk"
        )


def check_packages(missing: Sequence[str]) -> None:
    """Refuses what cannot succeed for want of packages, with the line that installs them."""
    if missing:
        raise BadInput(
            f"the guest's kernel: building it needs {', '.join(missing)}; install with: "
            f"{INSTALL} {' '.join(missing)}; or {wall_clock()}"
        )


def check_trouble(place: Path, log: Path) -> None:
    """Refuses, after a build failed, to take trouble of the machine for a fault of the source."""
    text = log.read_text(errors="replace") if log.exists() else ""
    if found := TROUBLE.search(text):
        raise BadInput(
            f"{place.parent}: building the guest's kernel ended with {found[0]!r}; make room (it "
            f"takes {ROOM_BYTES // 10**6} MB of disk and some 300 MB of memory a core) and try "
            f"again; the log is {log}"
        )


def build(source: Source, place: Path, log: Path, report: Report) -> Path:
    """Builds below `place`, with everything that tools print in `log`; returns the kernel.

    A RuntimeError says in a sentence why this source does not make a kernel.
    """
    check_packages(missing_unpacker(source))
    tree = place / "tree"
    tree.mkdir()
    report(f"kernel: unpacking the source of Linux {source.version_text}")
    run(unpack_command(source, tree), place, log)
    with log.open("a") as record:
        for applied in patches.apply(tree, source.version):
            record.write(f"{applied}\n")
    # make would look into two hundred folders of drivers that have nothing for us.
    (tree / "drivers" / "Makefile").write_text(f"obj-y += {DRIVERS}\n")
    report("kernel: configuring")
    run(["make", "ARCH=um", f"KCONFIG_ALLCONFIG={CONFIG}", "allnoconfig"], tree, log)
    check_configuration((tree / ".config").read_text())
    compile_tree(tree, log, report)
    run(["strip", "linux"], tree, log)
    return tree / "linux"


def unpack_command(source: Source, tree: Path) -> list[str]:
    """tar, reading with as many cores as its decompressor can use."""
    program, _ = sources.PROGRAMS[source.packing]
    threads = f" -T{cores()}" if program in ("xz", "zstd") else ""
    return [
        *(
            "tar",
            "--extract",
            f"--file={source.path}",
            f"--use-compress-program={program}{threads}",
        ),
        *(f"--directory={tree}", "--strip-components=1", "--anchored", "--wildcards"),
        *(f"--exclude={source.top}/{pattern}" for pattern in LEFT_PACKED),
    ]


def check_configuration(got: str) -> None:
    """Options drop out silently when something they depend on is missing: name them."""
    if lost := configuration.lost(CONFIG.read_text(), got):
        raise RuntimeError(f"these options of {CONFIG.name} did not take effect: {', '.join(lost)}")


def compile_tree(tree: Path, log: Path, report: Report) -> None:
    """make on every core, with a line of progress for every twentieth of the files."""
    started = time.monotonic()
    compiled = told = 0

    def count(line: str) -> None:
        nonlocal compiled, told
        if not line.startswith("  CC "):
            return
        compiled += 1
        share = min(compiled / FILES_TO_COMPILE, 0.99)
        if int(share * 20) > told:
            told = int(share * 20)
            left = (time.monotonic() - started) * (1 - share) / share
            report(f"kernel: compiling, {share:.0%} ({compiled} files), about {left:.0f} s left")

    run(
        ["make", "ARCH=um", f"-j{cores()}", f"KCFLAGS={COMPILER_OPTIONS}", "linux"],
        tree,
        log,
        count,
    )


def cores() -> int:
    return len(os.sched_getaffinity(0))


def run(
    command: Sequence[str], place: Path, log: Path, on_line: Callable[[str], object] = len
) -> None:
    """One tool, whose output goes to the log and to `on_line`; it never outlives this call."""
    with log.open("a") as record:
        record.write(f"$ {' '.join(command)}\n")
        record.flush()
        process = subprocess.Popen(
            # A builder that was killed cannot end its tools: the host's kernel does it then.
            ["setpriv", "--pdeathsig", "TERM", "nice", *command],
            cwd=place,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            process_group=0,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                record.write(line)
                on_line(line)
            code = process.wait(END_SECONDS)
        except BaseException:
            end_group(process)
            raise
    if code < 0:
        raise BadInput(f"the guest's kernel: {command[0]} was ended by signal {-code}; try again")
    if code != 0:
        raise RuntimeError(f"{command[0]} failed with code {code}: {telling_line(log)}")


def telling_line(log: Path) -> str:
    """The line of a failed tool's output that says most: its first error, else its last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    lines = lines[max(number for number, line in enumerate(lines) if line.startswith("$ ")) + 1 :]
    errors = [
        line for line in lines if re.search(r"\berror:|\*\*\*|^(xz|bzip2|zstd|gzip|tar):", line)
    ]
    return (errors or lines[-1:] or ["it said nothing"])[0]


def end_group(process: subprocess.Popen[str]) -> None:
    """Ends a tool and all that it started, first politely."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)


def environment() -> dict[str, str]:
    """Nothing of the caller's MAKEFLAGS or CFLAGS; the same kernel whoever builds it, when."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        "LC_ALL": "C",
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 2026",
        "KBUILD_BUILD_USER": "metronome",
        "KBUILD_BUILD_HOST": "metronome",
        "KBUILD_BUILD_VERSION": "1",
    }
