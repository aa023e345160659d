"""Links that vary, on the virtual clock: transfers take the time worked out by hand."""

from pathlib import Path

import pytest

from tests.support import emulated
from tests.support.emulated import SMALL, Outcome

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.timeout(300)]

ONE = SMALL.format(
    topology='kind = "star"\nclients = 1',
    links="client-cloud = {link}",
    devices='client = "laptop-core"\ncloud = "droplet-1gb"',
).replace("rounds = 2", "rounds = {rounds}")

# The model has 246,824 bytes: 171 frames, 66 bytes of headers each, 258,110 bytes on the link.
BITS = 8 * 258_110
FRAME_SECONDS = 8 * 1514 / 1e6  # the first frame is free, the clock's timers late by up to 1 ms


def downloads(run: Outcome) -> list[float]:
    return [event["end"] - event["start"] for event in run.events("download")]


def test_a_rate_that_halves_in_mid_transfer_and_the_same_again(tmp_path: Path) -> None:
    (tmp_path / "halved.csv").write_text("time,rate\n0,2mbit\n0.4,1mbit\n60,1mbit\n")
    link = f'{{ trace = "{tmp_path}/halved.csv", delay = "10ms" }}'
    scenario = ONE.format(link=link, rounds=1)

    first = emulated.run(scenario, tmp_path / "first", "--clock", "virtual")
    second = emulated.run(scenario, tmp_path / "second", "--clock", "virtual")

    assert first.code == second.code == 0, first.output + second.output
    (seconds,) = downloads(first)
    # 0.4 s at 2 Mbit/s, the rest at 1 Mbit/s, and 10 ms of the last frame's way; the window's
    # first ten segments take 61 ms, longer than the round trip, so that slow start costs nothing.
    assert seconds == pytest.approx(0.4 + (BITS - 0.8e6) / 1e6 + 0.010, abs=2 * FRAME_SECONDS)
    summary = first.summary
    assert summary["fidelity"]["verdict"] == "exact"
    (trace,) = summary["varying"]["traces"]
    assert (trace["changes"], trace["late_seconds_most"] < 0.002) == (2, True)
    assert not first.events("link"), "a trace's steps are not events"
    for name in ("events.jsonl", "links.csv", "rounds.csv", "varying.json"):
        one, other = ((run.directory / name).read_bytes() for run in (first, second))
        assert one == other, name


def test_traffic_at_half_the_rate_doubles_a_transfer_until_it_stops(tmp_path: Path) -> None:
    flow = '\n[[traffic]]\nfrom = "cloud"\nto = "client1"\nrate = "1mbit"\nuntil = "2.5s"\n'
    scenario = ONE.format(link='{ rate = "2mbit" }', rounds=2) + flow

    run = emulated.run(scenario, tmp_path, "--clock", "virtual")

    assert run.code == 0, run.output
    beside, alone = downloads(run)
    assert alone == pytest.approx(BITS / 2e6, abs=FRAME_SECONDS)
    assert beside == pytest.approx(2 * alone, rel=0.03)
    # A packet of 1442 bytes every 11.536 ms, from 0 to before 2.5 s: 217 of them.
    (flow_report,) = run.summary["varying"]["traffic"]
    assert flow_report["bytes_sent"] == flow_report["bytes_received"] == 217 * 1442
    assert run.summary["background_bytes"] == 217 * 1442
    assert run.summary["wire_overhead"] < 0.1
