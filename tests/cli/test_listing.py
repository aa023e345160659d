"""`metronome list`, `profiles` and `doctor`."""

import os
import signal
from collections.abc import Iterator

import pytest

from cli import __main__ as command_line
from cli import commands
from contracts.errors import BadInput
from netem import profiles
from netem.capabilities import Capabilities
from scenarios import loader, sweeps


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "80")
    terminate = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, terminate)


def test_list_shows_every_scenario_and_sweep_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["list"]) == 0

    shown = capsys.readouterr().out
    for name in (*loader.library(), *sweeps.library()):
        assert name in shown


def test_profiles_shows_every_link_and_device_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["profiles"]) == 0

    shown = capsys.readouterr().out
    for name in (*profiles.links(), *profiles.devices()):
        assert f" {name} " in shown
    for number in ("20mbit", "300ms"):
        assert number in shown


@pytest.mark.parametrize(
    ("user", "netem", "conclusion"),
    [
        (0, True, "backend native: this kernel has all the scenario needs."),
        (0, False, "backend guest: this kernel lacks netem (links with latency, jitter or loss"),
        (1000, False, "backend guest: native runs need root."),
    ],
)
def test_doctor_shows_what_there_is_and_the_backend_with_its_reason(
    user: int,
    netem: bool,
    conclusion: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    can = Capabilities(namespaces=True, veth=True, bridge=True, htb=True, netem=netem)
    monkeypatch.setattr("cli.doctor.probe", lambda: can)
    monkeypatch.setattr(os, "geteuid", lambda: user)

    assert commands.main(["doctor"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    for name in ("namespaces", "HTB", "netem", "Open vSwitch", "/dev/shm", "memory", "cores"):
        assert name in shown
    for name in ("guest memory", "spool", "ptrace"):
        assert name in shown
    assert os.uname().release in shown
    assert f"On the wall clock, quickstart would take the {conclusion}" in shown


def test_doctor_does_not_take_a_probe_that_timed_out_for_a_no(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Capabilities(not_tried="could not be tried in time")
    monkeypatch.setattr("cli.doctor.probe", lambda: slow)
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    assert commands.main(["doctor"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    for name in ("network namespaces", "HTB (rates)", "netem (latency, loss)"):
        assert f"{name} │ could not be tried in time" in shown
    assert "backend guest: what this kernel has could not be tried in time." in shown


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["fly"], "invalid choice: 'fly'"),
        (["run", "--seed", "many"], "argument --seed: invalid int value"),
        (["run", "--clock", "sun"], "argument --clock: invalid choice"),
        (["run", "--data", "/no/such/place"], "--data /no/such/place: no such directory"),
        (["run", "quickstrat"], 'did you mean "quickstart"?'),
        (["run", "--set", "topology.institutions=0"], "topology.institutions: "),
    ],
)
def test_a_bad_command_line_is_one_sentence_and_code_2(
    arguments: list[str],
    what: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["metronome", *arguments])

    assert command_line.main() == 2

    captured = capsys.readouterr()
    assert captured.err.startswith("metronome: ")
    assert what in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.main([])

    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for command in ("run", "test", "list", "profiles", "doctor"):
        assert command in shown


def test_the_parser_raises_what_the_command_line_prints() -> None:
    with pytest.raises(BadInput, match=r"see \./metronome --help"):
        commands.main(["run", "--no-such-option"])
