"""Makes fresh machines from nothing and runs Metronome on them as a new user would.

    sudo python3 -m benchmarks.machines chroot trixie [--tests] [--shm 64m]

Everything is kept below --place; the last line printed is a row for docs/machines.md.
"""

import argparse
import os
import shlex
import shutil
import sys
import time
from pathlib import Path

from benchmarks.machines import mirror, outcome
from benchmarks.machines.chroot import TREE, Chroot
from benchmarks.machines.mirror import Mirror
from benchmarks.machines.outcome import Outcome, Step
from contracts.errors import BadInput
from contracts.project import ROOT

_SUITES = ("bookworm", "trixie", "forky")


def main() -> int:
    """Do what the command line says; a user's mistake is one sentence and exit code 2."""
    options = _options()
    try:
        if os.geteuid() != 0:
            raise BadInput("benchmarks.machines: making machines needs root; start it with sudo")
        return chroot(options)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.machines", description=__doc__)
    kinds = parser.add_subparsers(required=True)
    kind = kinds.add_parser("chroot", help="a release of Debian in a folder")
    kind.add_argument("suite", choices=_SUITES)
    kind.add_argument("--place", type=Path, default=Path("/var/tmp/metronome-machines"))
    kind.add_argument("--clone", type=Path, default=ROOT, help="the tree that is cloned")
    kind.add_argument("--mirror", help="Debian's packages; default: as /etc/apt says")
    kind.add_argument("--pip-cache", type=Path, help="a folder of downloads that machines share")
    kind.add_argument("--shm", default="50%", help="size of /dev/shm (docker's: 64m)")
    kind.add_argument("--tests", action="store_true", help="also run ./metronome test")
    kind.add_argument("--again", action="store_true", help="go on with the machine that is there")
    return parser.parse_args()


def chroot(options: argparse.Namespace) -> int:
    """Make a machine in a folder, run Metronome there, and print the row."""
    place = options.place.resolve()
    name = f"{options.suite}-shm{options.shm}" if options.shm != "50%" else options.suite
    logs = place / "logs" / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    logs.mkdir(parents=True)
    machine = Chroot(place / name, options.pip_cache)
    machine.shared_memory = options.shm
    if not options.again:
        shutil.rmtree(machine.root, ignore_errors=True)
        _tell(f"making {machine.root}")
        source = Mirror(options.mirror) if options.mirror else mirror.of_this_machine()
        machine.make(options.suite, place / "packages" / options.suite, source)
    machine.clone(options.clone.resolve())
    commands = ["./metronome run", "./metronome run", "./metronome doctor"]
    if options.tests:
        commands.append("./metronome test")
    found = _visit(machine, name, commands, logs)
    (logs / "outcome.json").write_text(found.to_json())
    _tell(f"logs are in {logs}")
    print(f"{outcome.HEADER}\n{found.row()}")
    return int(any(step.code for step in found.steps))


def _visit(machine: Chroot, name: str, commands: list[str], logs: Path) -> Outcome:
    """Run the commands one after the other, and collect what they say."""
    found = Outcome(name)
    for number, command in enumerate(commands, 1):
        log = logs / f"{number}-{command.split()[1]}.log"
        started = time.monotonic()
        code = machine.run(shlex.split(command), log=log).returncode
        step = Step(command, code, time.monotonic() - started)
        _tell(f"{command}: exit {code} after {step.seconds:.0f} s")
        found.steps.append(step)
        text = log.read_text(errors="replace")
        if number == 1:
            found.set_up_seconds = outcome.set_up_seconds(text)
        if command == "./metronome test":
            found.tests = outcome.tests(text, code)
        # Runs that the tests make are elsewhere.
        found.summary = outcome.last_summary(machine.root / TREE.lstrip("/") / "runs")
    return found


def _tell(sentence: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {sentence}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
