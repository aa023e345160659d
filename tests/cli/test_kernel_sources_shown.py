"""`metronome kernel` and `metronome doctor` name every kernel source, and why it is not used."""

from pathlib import Path

import pytest

from cli import commands, doctor
from contracts.errors import BadInput
from netem.capabilities import Capabilities
from netem.guest import kernel_build, sources
from netem.guest.kernel_build import Report
from netem.guest.sources import Source


@pytest.fixture(autouse=True)
def _two_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proven changes with what is measured; these tests are about the choice."""
    monkeypatch.setattr(sources, "PROVEN", frozenset({(6, 1), (6, 12)}))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine with three sources, of which 6.12 does not fit; the list is what was tried."""
    monkeypatch.setattr(sources, "SOURCES", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "400")
    for number, version in enumerate(("5.15", "6.1", "6.12")):
        (tmp_path / f"linux-source-{version}.tar.xz").write_text("x" * number)
    tried: list[str] = []

    def build(source: Source, place: Path, log: Path, report: Report) -> Path:
        tried.append(source.version_text)
        if source.version == (6, 12):
            raise RuntimeError("the change 'clock' does not fit [/tree]")
        (place / "linux").write_text("kernel")
        return place / "linux"

    monkeypatch.setattr(kernel_build, "build", build)
    return tried


def test_kernel_and_doctor_name_what_was_passed_over(
    machine: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.main(["kernel"]) == 0
    built = capsys.readouterr().out
    monkeypatch.setattr(doctor, "probe", Capabilities)
    assert doctor.doctor() == 0
    table = capsys.readouterr().out

    assert "kernel: Linux 6.12 is passed over: the change 'clock' does not fit [/tree]" in built
    for said in (built, table):
        assert "linux-source-6.12.tar.xz: passed over: the change 'clock' does not fit [/" in said
        assert "linux-source-6.1.tar.xz: used" in said
        assert "linux-source-5.15.tar.xz: not used, older than 6.1" in said
    assert machine == ["6.12", "6.1"]


def test_asking_for_the_kernel_again_tries_again_where_none_fitted(machine: list[str]) -> None:
    (sources.SOURCES / "linux-source-6.1.tar.xz").unlink()

    for _ in range(2):
        with pytest.raises(BadInput, match="no source here makes one"):
            commands.main(["kernel"])

    assert machine == ["6.12", "6.12"]


def test_doctor_says_what_to_install_where_there_is_no_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sources, "SOURCES", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr(doctor, "probe", Capabilities)

    assert doctor.doctor() == 0

    table = capsys.readouterr().out
    assert f"none in {tmp_path}" in table
    assert "linux-source; or use --clock wall" in table
