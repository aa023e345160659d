"""The changes to the guest's kernel: pieces of one idea each, chosen by what the source tree has.

A piece is one or more files `patches/NAME.VERSION.patch`, its variants, each named for the oldest
kernel it was made for; the head of the file says why. A later kernel may have the change itself:
then there is nothing to do.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PATCHES = Path(__file__).with_name("patches")

Version = tuple[int, int]


class DoesNotFit(RuntimeError):
    """A change that the virtual clock needs cannot be made to this source tree."""


@dataclass(frozen=True)
class Mark:
    """A regular expression (`.` matches the end of a line, too) and the file to look for it in."""

    file: str
    expression: str

    def found(self, tree: Path) -> bool:
        """Whether the file exists and has it."""
        path = tree / self.file
        if not path.exists():
            return False
        text = path.read_text(encoding="utf-8", errors="replace")
        return re.search(self.expression, text, re.DOTALL | re.MULTILINE) is not None


@dataclass(frozen=True)
class Piece:
    """One change: what it is for, and how to see that it is not needed or not complete."""

    name: str
    purpose: Literal["safety", "repeatability", "speed", "size", "endurance"]
    upstream: Mark | None = None  # found: this kernel has the change already
    left_over: Mark | None = None  # found after a variant was applied: it was not the right one
    since: Version = (6, 1)  # older kernels do not need it

    @property
    def optional(self) -> bool:
        """Without it a run is slower, cannot be as large or dies sooner, but is just as right."""
        return self.purpose in WITHOUT


# What to expect where a piece that can be left out does not fit.
WITHOUT = {
    "speed": "slower, not wrong",
    "size": "processes of more than 256 MB may die",
    "endurance": "a run may die of what others survive or explain",
}

_SYSTEM_CALLS = "arch/um/kernel/skas/syscall.c"
_STUBS = "arch/um/os-Linux/skas/process.c"
_NETEM = "net/sched/sch_netem.c"
_HOSTFS = "fs/hostfs/hostfs_user.c"

# In the order in which they are applied: what is needed comes first, so that it never depends on
# what may be left out.
PIECES = (
    Piece("stubs-die", "safety", left_over=Mark(_STUBS, r"\(void \*\) ?PTRACE_O_TRACESYSGOOD\)")),
    Piece(
        "host-files",
        "safety",
        # None of the host's calls that take a whole path may be left.
        left_over=Mark(_HOSTFS, r"\b(l?stat64|opendir|(sym|un)?link|(mk|rm)dir|rename|mknod)\("),
    ),
    Piece(
        "clock",
        "repeatability",
        left_over=Mark("arch/um/kernel/time.c", r"time_travel_update_time_rel\(TIMER_MULTIPLIER\)"),
    ),
    Piece(
        "system-calls",
        "repeatability",
        upstream=Mark(_SYSTEM_CALLS, r"\A(?!.*um_udelay).*schedule\(\)"),
        left_over=Mark(_SYSTEM_CALLS, r"um_udelay|tt_extra_sched_jiffies"),
    ),
    Piece("rdtsc", "repeatability", left_over=Mark(_STUBS, r"\A(?!.*<timetravel\.h>)")),
    Piece(
        "random", "repeatability", left_over=Mark("arch/um/os-Linux/util.c", r"return getrandom\(")
    ),
    Piece(
        "addresses", "repeatability", upstream=Mark("arch/um/os-Linux/main.c", r"ADDR_NO_RANDOMIZE")
    ),
    Piece(
        "heap", "repeatability", left_over=Mark("arch/um/kernel/mem.c", r"brk_end = .*sbrk\(0\)")
    ),
    Piece(
        "netem-seed",
        "repeatability",
        # Since 6.6 every qdisc has a generator of its own, which starts with a number of 64 bits.
        left_over=Mark(_NETEM, r"\A(?!.*define get_random_u64).*get_random_u64\("),
    ),
    Piece(
        "connections",
        "repeatability",
        left_over=Mark("net/ipv4/tcp_bbr.c", r"(prandom_u32_max|get_random_u32_below)\("),
    ),
    Piece("links-ready", "repeatability", since=(6, 2)),
    Piece("fork", "speed"),
    Piece("fork-copies", "speed"),
    Piece("fault-around", "speed"),
    Piece("fault-ahead", "speed"),
    Piece("copied-page", "speed"),
    Piece("fp-registers", "speed"),
    Piece("clock-page", "speed"),
    Piece("idle", "speed"),
    Piece("path-copy", "speed"),
    Piece("host-search", "speed"),
    Piece(
        "fs-register",
        "speed",
        upstream=Mark("arch/x86/um/syscalls_64.c", r"Nothing needs to be done on x86_64"),
    ),
    Piece("stop-signal", "speed"),
    Piece("tcp-wake", "speed", left_over=Mark("net/ipv4/tcp_input.c", r"copied -= inq")),
    Piece("fsync-pause", "speed"),
    Piece("offload", "speed", left_over=Mark(_NETEM, r"sch->q\.qlen >= sch->limit")),
    Piece("mappings", "size"),
    Piece("stop-and-continue", "endurance"),
    Piece("memory-file", "endurance"),
)


@dataclass(frozen=True)
class Applied:
    """What became of a piece: the variant's file name, or why there is none."""

    piece: Piece
    how: str

    def __str__(self) -> str:
        return f"{self.piece.name}: {self.how}"


def apply(tree: Path, version: Version, pieces: Sequence[Piece] = PIECES) -> list[Applied]:
    """Makes all changes to a tree; raises DoesNotFit when one that is needed does not fit."""
    return [Applied(piece, _apply_piece(tree, version, piece)) for piece in pieces]


def digest_parts() -> list[bytes]:
    """All that decides how a tree is changed, for the name of the kernel that is built."""
    return [
        Path(__file__).read_bytes(),
        *(path.read_bytes() for path in sorted(PATCHES.glob("*.patch"))),
    ]


def _apply_piece(tree: Path, version: Version, piece: Piece) -> str:
    if version < piece.since:
        return f"not needed before {_text(piece.since)}"
    if piece.upstream and piece.upstream.found(tree):
        return "this kernel has it already"
    for variant in _variants(piece, version):
        if _fits(tree, piece, variant):
            return variant.name
    if piece.optional:
        return f"left out, no variant fits ({WITHOUT[piece.purpose]})"
    raise DoesNotFit(
        f"the change {piece.name!r}, which is needed for {piece.purpose}, does not fit this tree"
    )


def _variants(piece: Piece, version: Version) -> Iterator[Path]:
    """First the variants for this or an older kernel, newest first; then those for newer ones."""
    found = {_version_of(path): path for path in PATCHES.glob(f"{piece.name}.*.patch")}
    older = sorted((known for known in found if known <= version), reverse=True)
    newer = sorted(known for known in found if known > version)
    return (found[known] for known in (*older, *newer))


def _fits(tree: Path, piece: Piece, variant: Path) -> bool:
    """Tries a variant on copies of the files it changes, and takes them when all is well."""
    files = re.findall(r"^\+\+\+ b/(\S+)", variant.read_text(encoding="utf-8"), re.MULTILINE)
    if not all((tree / file).exists() for file in files):
        return False
    with tempfile.TemporaryDirectory(prefix="metronome-patch-") as name:
        place = Path(name)
        for file in files:
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / file, place / file)
        # No fuzz: the lines around a change must be as expected, only their numbers may differ.
        command = ["patch", "-p1", "--forward", "--batch", "--fuzz=0", "--no-backup-if-mismatch"]
        patched = subprocess.run(
            [*command, "--reject-file=-", "--input", str(variant.absolute())],
            cwd=place,
            capture_output=True,
            check=False,
        )
        if patched.returncode != 0 or (piece.left_over and piece.left_over.found(place)):
            return False
        for file in files:
            shutil.copyfile(place / file, tree / file)
    return True


def _version_of(path: Path) -> Version:
    """`NAME.6.12.patch` -> (6, 12)."""
    major, minor = path.name.removesuffix(".patch").split(".")[-2:]
    return int(major), int(minor)


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
