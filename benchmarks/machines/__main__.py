"""Makes fresh machines from nothing and runs Metronome on them as a new user would.

    sudo python3 -m benchmarks.machines chroot trixie [--tests] [--shm 64m]
    sudo python3 -m benchmarks.machines enter trixie ./metronome doctor
    sudo python3 -m benchmarks.machines vm trixie

A chroot is a release of Debian in a folder, in namespaces of its own, on this machine's kernel. A
virtual machine boots the files of that chroot with the release's own kernel. Everything is kept
below --place; what is printed last are rows for docs/machines.md.
"""

import argparse
import os
import sys
from pathlib import Path

from benchmarks.machines import trials
from contracts.errors import BadInput
from contracts.project import ROOT

_SUITES = ("bookworm", "trixie", "forky")


def main() -> int:
    """Do what the command line says; a user's mistake is one sentence and exit code 2."""
    options = _options()
    try:
        if os.geteuid() != 0:
            raise BadInput("benchmarks.machines: making machines needs root; start it with sudo")
        trial: trials.Trial = options.trial
        return trial(options)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2


def _options() -> argparse.Namespace:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.machines", description=__doc__, formatter_class=formatter
    )
    kinds = parser.add_subparsers(required=True)
    chroot = kinds.add_parser("chroot", help="a release of Debian in a folder, from nothing")
    chroot.set_defaults(trial=trials.chroot)
    vm = kinds.add_parser("vm", help="the same files, booted in QEMU with the release's kernel")
    vm.set_defaults(trial=trials.vm)
    enter = kinds.add_parser("enter", help="run a command in a chroot that was made before")
    enter.set_defaults(trial=trials.enter)
    for kind in (chroot, enter, vm):
        kind.add_argument("suite", choices=_SUITES)
        kind.add_argument("--place", type=Path, default=Path("/var/tmp/metronome-machines"))
        kind.add_argument("--pip-cache", type=Path, help="a folder of downloads to share")
        kind.add_argument("--clone", type=Path, default=ROOT, help="the tree that is cloned")
    chroot.add_argument("--mirror", help="Debian's packages; default: as /etc/apt says")
    for kind in (chroot, enter):
        kind.add_argument("--shm", default="50%", help="size of /dev/shm (docker's: 64m)")
    enter.add_argument("command", nargs=argparse.REMAINDER)
    chroot.add_argument("--tests", action="store_true", help="also run ./metronome test")
    chroot.add_argument("--again", action="store_true", help="on the machine that is there")
    vm.add_argument("--qemu", default=trials.QEMU, help=f"QEMU's options; default: {trials.QEMU}")
    vm.add_argument("--step", action="append", metavar="'USER COMMAND'", help="instead of ours")
    vm.add_argument("--patience", type=int, default=3600, help="seconds for each step")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
