"""The two kinds of machine, from the first package to the row of the table."""

import argparse
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.machines import mirror, outcome, virtual
from benchmarks.machines.chroot import TREE, Chroot
from benchmarks.machines.mirror import Mirror
from benchmarks.machines.outcome import Outcome, Step
from contracts.errors import BadInput

Trial = Callable[[argparse.Namespace], int]

QEMU = "-accel tcg,thread=multi -cpu max -smp 2 -m 4G"
_HALF = "50%"  # of the memory: the usual size of /dev/shm


def chroot(options: argparse.Namespace) -> int:
    """Make a machine in a folder, run Metronome there, and print the row."""
    name = options.suite if options.shm == _HALF else f"{options.suite}-shm-{options.shm}"
    logs = _logs(options, name)
    machine = Chroot(options.place.resolve() / name, options.pip_cache)
    machine.shared_memory = options.shm
    if options.again:
        machine.update(options.clone.resolve())
    else:
        shutil.rmtree(machine.root, ignore_errors=True)
        _tell(f"making {machine.root}")
        source = Mirror(options.mirror) if options.mirror else mirror.of_this_machine()
        machine.make(options.suite, options.place.resolve() / "packages" / options.suite, source)
        machine.clone(options.clone.resolve())
    commands = ["./metronome run", "./metronome run", "./metronome doctor"]
    if options.tests:
        commands.append("./metronome test")
    found = _visit(machine, name, commands, logs)
    (logs / "outcome.json").write_text(found.to_json())
    _tell(f"logs are in {logs}")
    print(f"{outcome.HEADER}\n{found.row()}")
    return int(any(step.code for step in found.steps))


def enter(options: argparse.Namespace) -> int:
    """Run one command on a machine that was made before, to look closer."""
    machine = _made(options)
    machine.shared_memory = options.shm
    return machine.run(options.command, log=Path("/dev/stdout")).returncode


def vm(options: argparse.Namespace) -> int:
    """Boot the files of a chroot, run the steps there, and print a row for each."""
    machine = _made(options)
    if shutil.which("qemu-system-x86_64") is None:
        raise BadInput("qemu-system-x86_64: not installed; apt-get install qemu-system-x86")
    logs = _logs(options, f"{options.suite}-vm")
    steps = virtual.STEPS
    if options.step:
        steps = [(user, command) for user, _, command in map(_partition, options.step)]
    _tell("installing kernel and tree")
    virtual.prepare(machine, options.clone.resolve(), logs / "prepare.log")
    virtual.write_steps(machine.root, steps, options.patience)
    image = logs / "disk.ext4"
    try:
        virtual.make_image(machine.root, image)
        _tell(f"booting; what it says is in {logs}/console.log")
        seconds = options.patience * (len(steps) + 1)
        virtual.boot(machine.root, image, logs / "console.log", options.qemu, seconds)
        ended = virtual.collect(image, logs, steps)
    finally:
        image.unlink(missing_ok=True)
    print("| user and command | exit | seconds |\n|---|---:|---:|")
    for step in ended:
        print(f"| `{step.command}` | {step.code} | {step.seconds:.0f} |")
    for name, summary in virtual.runs(logs).items():
        print(f"{name}: {outcome.figures(summary)}")
    return int(len(ended) < len(steps) or any(step.code for step in ended))


def _made(options: argparse.Namespace) -> Chroot:
    machine = Chroot(options.place.resolve() / options.suite, options.pip_cache)
    if not (machine.root / "etc/apt").is_dir():
        raise BadInput(f"{machine.root}: no machine here; make it with `chroot {options.suite}`")
    return machine


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
    # The tests' own runs are elsewhere.
    found.summary = outcome.last_summary(machine.root / TREE.lstrip("/") / "runs")
    return found


def _logs(options: argparse.Namespace, name: str) -> Path:
    place: Path = options.place.resolve() / "logs" / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    place.mkdir(parents=True)
    return place


def _partition(step: str) -> tuple[str, str, str]:
    return step.partition(" ")


def _tell(sentence: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {sentence}", file=sys.stderr, flush=True)
