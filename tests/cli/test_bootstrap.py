"""What ./metronome does before the command line starts, on a machine of stand-ins."""

import os
import signal
import time
import tomllib

import pytest

from tests.support.stand_in_machine import PATIENCE, Machine


def test_first_start_sets_up_and_then_does_what_it_was_told(machine: Machine) -> None:
    first = machine.run("run", "a b")

    assert first.stdout == "told to: run a b\n"
    assert machine.log().count("-m venv") == 1
    assert machine.log().count("-m pip install") == 2
    assert (machine.venv / "lib/python3.11/site-packages/mininet/net.py").exists()


def test_second_start_installs_nothing(machine: Machine) -> None:
    machine.run("list")
    installed = machine.log()

    second = machine.run("list")

    assert second.stdout == "told to: list\n"
    assert second.stderr == ""
    assert machine.log() == f"{installed}python -m cli list\n"


def test_the_version_is_told_without_installing_anything(machine: Machine) -> None:
    said = machine.run("--version")

    with (machine.tree / "pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    assert (said.stdout, said.stderr) == (f"metronome {version}\n", "")
    assert machine.log() == ""
    assert not machine.venv.exists()


def test_it_works_through_a_link(machine: Machine) -> None:
    link = machine.system / "usr/bin/metronome"
    link.symlink_to(machine.script)

    process = machine.start(str(link), "list")
    out, err = process.communicate(timeout=PATIENCE)

    assert out == "told to: list\n", err
    assert machine.venv.is_dir()


def test_check_of_a_finished_set_up_costs_under_half_a_second(machine: Machine) -> None:
    machine.run("list")

    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        machine.run("list")
        seconds.append(time.perf_counter() - started)

    assert min(seconds) < 0.5


def test_user_without_root_gets_one_line_to_paste(machine: Machine) -> None:
    machine.remove("mininet", "gcc")

    refused = machine.run("list")

    assert refused.returncode == 2
    assert refused.stdout == (
        "sudo apt-get update && sudo apt-get install -y --no-install-recommends mininet gcc\n"
    )
    assert machine.log() == ""


def test_missing_packages_are_installed_with_sudo(machine: Machine) -> None:
    machine.remove("mininet", "linux-source", "python3-venv")

    started = machine.run("list", SUDO_WORKS="yes")

    assert started.stdout == "told to: list\n", started.stderr
    update, install = (line for line in machine.log().splitlines() if line.startswith("apt-get"))
    assert update.endswith(" update")
    assert install.endswith(" --no-install-recommends mininet python3-venv linux-source")


def test_package_that_apt_lacks_is_done_without_and_not_asked_for_again(machine: Machine) -> None:
    machine.remove("user-mode-linux")

    first = machine.run("list", SUDO_WORKS="yes", UNOFFERED="user-mode-linux")
    second = machine.run("list")

    assert "no package user-mode-linux" in first.stderr
    assert first.stdout == second.stdout == "told to: list\n"
    assert second.stderr == ""


def test_only_the_test_command_asks_for_what_tests_need(machine: Machine) -> None:
    machine.remove("ruby")

    assert machine.run("list").stdout == "told to: list\n"
    assert machine.run("test").stdout.endswith(" ruby\n")


def test_killed_set_up_is_begun_anew(machine: Machine) -> None:
    killed = machine.start(str(machine.script), "list", PIP_SECONDS="60")
    machine.wait_for("-m pip install")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=PATIENCE)
    half_unpacked = machine.venv / "half-unpacked"
    half_unpacked.touch()

    again = machine.run("list")

    assert again.stdout == "told to: list\n", again.stderr
    assert not half_unpacked.exists()


def test_two_first_starts_at_once_set_up_once(machine: Machine) -> None:
    both = [machine.start(str(machine.script), "list", PIP_SECONDS="0.3") for _ in range(2)]

    outputs = [process.communicate(timeout=PATIENCE)[0] for process in both]

    assert outputs == ["told to: list\n"] * 2
    assert machine.log().count("-m venv") == 1
    assert machine.log().count("-m pip install") == 2


def test_changed_pins_update_the_environment_in_place(machine: Machine) -> None:
    machine.run("list")
    with (machine.tree / "requirements.txt").open("a") as pins:
        pins.write("another==1.0\n")

    machine.run("list")

    assert machine.log().count("-m venv") == 1
    assert machine.log().count("-m pip install") == 4


def _pip_installs(machine: Machine) -> list[str]:
    return [line for line in machine.log().splitlines() if "-m pip install" in line]


def test_only_the_test_command_installs_what_the_checks_need(machine: Machine) -> None:
    machine.run("run", "x")

    packages, _torchvision = _pip_installs(machine)
    assert packages.endswith(f"-r {machine.tree}/requirements.txt")
    assert "--no-compile" in packages, "most of what pip unpacks is never imported"


def test_the_test_command_completes_an_environment_made_by_run(machine: Machine) -> None:
    machine.run("run", "x")
    before = len(_pip_installs(machine))

    tested = machine.run("test")

    assert tested.stdout == "told to: test\n", tested.stderr
    both = f"-r {machine.tree}/requirements.txt -r {machine.tree}/requirements-dev.txt"
    assert _pip_installs(machine)[before].endswith(both)
    assert machine.log().count("-m venv") == 1, "completed in place"


def test_a_complete_environment_serves_every_command(machine: Machine) -> None:
    machine.run("test")
    installed = _pip_installs(machine)

    for command in ("run", "test", "list", "test"):
        assert machine.run(command).stderr == ""

    assert _pip_installs(machine) == installed


def test_changed_pins_of_the_checks_matter_only_to_the_test_command(machine: Machine) -> None:
    machine.run("test")
    installed = _pip_installs(machine)
    with (machine.tree / "requirements-dev.txt").open("a") as pins:
        pins.write("another==1.0\n")

    machine.run("run", "x")
    assert _pip_installs(machine) == installed

    machine.run("test")
    assert len(_pip_installs(machine)) == len(installed) + 2


def test_changed_pins_of_a_run_are_brought_up_to_date_by_run_and_then_by_test(
    machine: Machine,
) -> None:
    machine.run("test")
    with (machine.tree / "requirements.txt").open("a") as pins:
        pins.write("another==1.0\n")
    installed = len(_pip_installs(machine))

    machine.run("run", "x")
    updated = _pip_installs(machine)
    machine.run("test")

    assert "requirements-dev.txt" not in updated[installed]
    assert "requirements-dev.txt" in _pip_installs(machine)[len(updated)]


def test_a_package_installed_by_apt_does_not_undo_the_checks_packages(machine: Machine) -> None:
    machine.run("test")
    installed = _pip_installs(machine)
    machine.remove("mininet")

    machine.run("run", "x", SUDO_WORKS="yes")
    machine.run("test")

    assert _pip_installs(machine) == installed


def test_killed_completion_is_begun_anew(machine: Machine) -> None:
    machine.run("run", "x")
    killed = machine.start(str(machine.script), "test", PIP_SECONDS="60")
    machine.wait_for("requirements-dev.txt")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=PATIENCE)

    again = machine.run("test")

    assert again.stdout == "told to: test\n", again.stderr
    assert machine.log().count("-m venv") == 2, "pip may have left half-unpacked packages"


def test_environment_of_another_python_is_rebuilt(machine: Machine) -> None:
    machine.run("list")
    (machine.venv / "lib/python3.11").rename(machine.venv / "lib/python3.10")

    machine.run("list")

    assert machine.log().count("-m venv") == 2
    assert not (machine.venv / "lib/python3.10").exists()


@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_the_distributions_own_python_makes_the_environment(machine: Machine, minor: int) -> None:
    machine.give_python(minor)

    assert machine.run("list").stdout == "told to: list\n"

    assert (machine.venv / f"lib/python3.{minor}/site-packages/mininet").is_symlink()


def test_a_later_python_is_taken_where_the_distributions_own_is_too_old(machine: Machine) -> None:
    machine.give_python(14, default=False)
    (machine.system / "usr/bin/python3.11").rename(machine.system / "usr/bin/python3.10")
    (machine.system / "usr/bin/python3").unlink()
    (machine.system / "usr/bin/python3").symlink_to("python3.10")

    machine.run("list")

    assert (machine.venv / "lib/python3.14").is_dir()


def test_the_user_sees_which_step_it_is_at_and_what_it_takes(machine: Machine) -> None:
    machine.remove("mininet")

    said = machine.run("run", SUDO_WORKS="yes", KERNEL_SECONDS="60").stderr.splitlines()

    steps = [line for line in said if line.startswith("metronome: [")]
    assert [line[11:16] for line in steps] == ["[1/3]", "[2/3]", "[3/3]"]
    assert "mininet" in steps[0]
    assert "Python packages" in steps[1]
    assert "kernel" in steps[2]
    assert any("300 MB to download" in line for line in said)


def test_folder_that_is_no_environment_is_never_replaced(machine: Machine) -> None:
    precious = machine.system / "usr/bin"

    refused = machine.run("list", METRONOME_VENV=str(precious))

    assert refused.returncode == 2
    assert "METRONOME_VENV" in refused.stderr
    assert (precious / "python3").exists()
