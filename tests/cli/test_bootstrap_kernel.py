"""The virtual clock's kernel is built beside the set-up, and never outlives the command."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.stand_in_machine import PATIENCE, Machine

FOREVER = "600"


def test_set_up_and_command_go_on_while_the_kernel_is_built(machine: Machine) -> None:
    ran = machine.run("run", KERNEL_SECONDS=FOREVER, PIP_AWAITS_KERNEL="start")

    assert ran.stdout == "told to: run\n", ran.stderr


def test_a_kernel_that_is_there_when_the_set_up_ends_is_said_to_be(machine: Machine) -> None:
    said = machine.run("run", PIP_AWAITS_KERNEL="end").stderr

    assert "[2/2] the virtual clock's kernel: built" in said


def test_the_build_goes_on_beside_the_command_and_ends_with_it(machine: Machine) -> None:
    process = machine.start(
        str(machine.script),
        "run",
        KERNEL_SECONDS=FOREVER,
        PIP_AWAITS_KERNEL="start",
        CLI_SECONDS=FOREVER,
    )
    machine.wait_for("-m cli")
    builder = Path("/proc", machine.wait_for("\n", "kernel.pid").strip())

    assert "netem.guest.kernel" in (builder / "cmdline").read_text()
    assert process.poll() is None

    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    machine.wait_for("kernel ended")


def test_the_builder_holds_neither_the_terminal_nor_the_lock(machine: Machine) -> None:
    process = machine.start(str(machine.script), "run", KERNEL_SECONDS=FOREVER, PIP_SECONDS=FOREVER)
    builder = Path("/proc", machine.wait_for("\n", "kernel.pid").strip())

    held = {path.name: os.readlink(path) for path in (builder / "fd").iterdir()}

    assert {held[number] for number in "012"} == {"/dev/null"}
    assert [target for target in held.values() if target.endswith(".lock")] == []
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)


def test_ctrl_c_during_the_set_up_ends_the_build_too(machine: Machine) -> None:
    process = machine.start(
        str(machine.script),
        "run",
        KERNEL_SECONDS=FOREVER,
        PIP_AWAITS_KERNEL="start",
        PIP_SECONDS=FOREVER,
    )
    machine.wait_for("-m pip install")
    machine.wait_for("\n", "kernel.pid")

    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)

    machine.wait_for("kernel ended")
    assert process.returncode == 130
    assert "interrupted" in said


def test_a_set_up_that_fails_ends_the_build_too(machine: Machine) -> None:
    failed = machine.run("run", KERNEL_SECONDS=FOREVER, PIP_AWAITS_KERNEL="start", PIP_STATUS="1")

    assert failed.returncode == 2
    machine.wait_for("kernel ended")


def test_what_the_kernel_is_built_with_is_installed_first(machine: Machine) -> None:
    machine.remove("mininet", "gcc", "linux-source", "user-mode-linux")

    machine.run("run", SUDO_WORKS="yes")

    installs = [line for line in machine.log().splitlines() if "--no-install-recommends" in line]
    assert [line.partition("--no-install-recommends ")[2] for line in installs] == [
        "gcc linux-source",
        "mininet user-mode-linux",
    ]


@pytest.mark.parametrize(
    "command",
    [
        "list",
        "doctor",
        "compare a b",
        "report",
        "run --help",
        "run --clock wall",
        "run --clock=wall",
        "run --backend native",
        "test --fast",
        "run on-the-wall-clock.toml",
    ],
)
def test_a_command_without_need_of_the_kernel_does_not_build_it(
    machine: Machine, command: str
) -> None:
    (machine.system / "on-the-wall-clock.toml").write_text('name = "mine"\n')

    assert "kernel" not in machine.run(*command.split()).stderr


@pytest.mark.parametrize(
    "command", ["run", "run quickstart", "test", "sweep x", "links", "kernel", "run virtual.toml"]
)
def test_a_command_with_need_of_the_kernel_begins_it(machine: Machine, command: str) -> None:
    (machine.system / "virtual.toml").write_text('clock = "virtual"\n')

    assert "kernel in the background" in machine.run(*command.split()).stderr
