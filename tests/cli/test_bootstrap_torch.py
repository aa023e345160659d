"""Which build of torch ./metronome installs, and what it says before."""

import pytest

from tests.support.stand_in_machine import Machine

WITH_CUDA = "2.13.0, 2.12.1"


def _lines(machine: Machine, word: str) -> list[str]:
    return [line for line in machine.log().splitlines() if line.startswith(word)]


def test_a_build_without_cuda_that_pip_finds_is_taken(machine: Machine) -> None:
    said = machine.run("list").stderr

    assert _lines(machine, "uv") == []
    assert "300 MB to download" in said


def test_without_a_graphics_card_pytorchs_build_without_cuda_comes_first(machine: Machine) -> None:
    ran = machine.run("list", PIP_OFFERS=WITH_CUDA)

    assert ran.stdout == "told to: list\n", ran.stderr
    tried, installed = _lines(machine, "uv")
    for line in (tried, installed):
        assert "--no-deps --torch-backend=cpu torch==2.13.0 torchvision==" in line
        assert "connect=5" in line
    assert tried.endswith("--dry-run connect=5 retries=0")
    assert "--dry-run" not in installed
    assert machine.log().index(installed) < machine.log().index("requirements.txt")
    assert "300 MB to download" in ran.stderr
    assert not (machine.venv / "uv").exists()


@pytest.mark.parametrize("lacking", [{"UV_STATUS": "2"}, {"NO_UV": "yes"}])
def test_where_that_cannot_be_had_pips_own_is_taken_and_its_size_said_before(
    machine: Machine, lacking: dict[str, str]
) -> None:
    ran = machine.run("list", PIP_OFFERS=WITH_CUDA, **lacking)

    assert ran.stdout == "told to: list\n", ran.stderr
    assert "2.8 GB to download and 6 GB of disk" in ran.stderr


@pytest.mark.parametrize("sign", ["dev/nvidia0", "proc/driver/nvidia"])
def test_a_machine_with_a_graphics_card_gets_the_build_with_cuda(
    machine: Machine, sign: str
) -> None:
    (machine.system / sign).parent.mkdir(parents=True)
    (machine.system / sign).touch()

    said = machine.run("list", PIP_OFFERS=WITH_CUDA).stderr

    assert _lines(machine, "uv") == []
    assert "2.8 GB to download" in said


def test_torch_that_is_there_is_not_looked_for_again(machine: Machine) -> None:
    machine.run("run")

    machine.run("test", PIP_OFFERS=WITH_CUDA)

    assert _lines(machine, "uv") == []


@pytest.mark.parametrize(
    ("free", "offered"), [("800", "2.13.0+cpu"), ("5000", WITH_CUDA), ("800", WITH_CUDA)]
)
def test_too_little_room_is_said_before_anything_is_fetched(
    machine: Machine, free: str, offered: str
) -> None:
    refused = machine.run("list", FREE_MB=free, PIP_OFFERS=offered, UV_STATUS="2")

    assert refused.returncode == 2
    assert f"{free} MB are free" in refused.stderr
    assert "METRONOME_VENV" in refused.stderr
    assert "requirements.txt" not in machine.log()
