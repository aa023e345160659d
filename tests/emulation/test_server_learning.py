"""Server learning and its baselines over real links: bytes, time, and state that survives."""

from pathlib import Path

import pytest

from tests.support import emulated
from tests.support.emulated import SMALL, Outcome

pytestmark = [pytest.mark.emulation, pytest.mark.beside]

SCENARIO = (
    SMALL.format(
        topology='kind = "star"\nclients = 3',
        links='client-cloud = { rate = "4mbit", delay = "5ms" }',
        devices='client = "laptop-core"\ncloud = "laptop-core"',
    )
    .replace("local_epochs = 2", "clients_per_round = 2")
    .replace("momentum = 0.9\n", "")
    + '[server_data]\nkind = "iid"\nsamples = 20\n'
)
MODEL_BYTES = 4 * 61_706


def run(folder: Path, protocol: str, *changes: str) -> Outcome:
    settings = (f"protocol.name={protocol}", *changes)
    words = [word for change in settings for word in ("--set", change)]
    outcome = emulated.run(SCENARIO, folder, "--clock", "virtual", *words)
    assert outcome.code == 0, outcome.output
    return outcome


def test_fsl_without_gamma_is_fedavg_to_the_bit_and_to_the_nanosecond(tmp_path: Path) -> None:
    plain = run(tmp_path / "fedavg", "fedavg")
    ours = run(tmp_path / "fsl", "fsl", "protocol.gamma=0.0", "protocol.eta_g=1.0")

    assert ours.summary["final_model"] == plain.summary["final_model"]
    for name in ("events.jsonl", "links.csv"):
        files = [(outcome.directory / name).read_bytes() for outcome in (ours, plain)]
        assert files[0] == files[1], name


def test_the_servers_own_training_takes_its_devices_time(tmp_path: Path) -> None:
    outcome = run(tmp_path, "fsl", "protocol.server_epochs=3", "protocol.pretrain_epochs=5")

    own = [event for event in outcome.events("compute") if event["node"] == "cloud"]
    assert [event["moment"] for event in own] == ["before", "after", "after"]
    client = next(e for e in outcome.events("compute") if e["node"] != "cloud")
    step = client["modelled"] / 10  # the same device: 100 samples in batches of 10
    before, after, _ = (event["end"] - event["start"] for event in own)
    assert before == pytest.approx(10 * step, rel=1e-3)  # 20 samples, five times
    assert after == pytest.approx(6 * step, rel=1e-3)
    first = next(event for event in outcome.events("round") if event["round"] == 1)
    assert own[0]["start"] == pytest.approx(first["start"], abs=1e-5), "on the clock"
    assert own[1]["end"] == pytest.approx(first["end"], abs=1e-5)


def test_scaffold_sends_twice_as_much_both_ways(tmp_path: Path) -> None:
    outcome = run(tmp_path, "scaffold")

    for way in ("download", "upload"):
        events = outcome.events(way)
        assert len(events) == 4, "two of three clients, two rounds"
        assert {event["bytes"] for event in events} == {2 * MODEL_BYTES}
    assert 0.04 < outcome.summary["wire_overhead"] < 0.1


def test_shared_samples_cross_every_clients_link_once_before_its_first_model(
    tmp_path: Path,
) -> None:
    plain = run(tmp_path / "fedavg", "fedavg")
    outcome = run(tmp_path / "ds", "ds")

    supplies = outcome.events("supply")
    assert {event["node"] for event in supplies} == {"client1", "client2", "client3"}
    assert len(supplies) == 3
    assert {event["bytes"] for event in supplies} == {20 * (28 * 28 + 1)}
    # The model comes behind the samples, on the same link: later by what they take at 4 Mbit/s.
    first, usual = (
        min(e["end"] for e in o.events("download") if e["round"] == 1) for o in (outcome, plain)
    )
    wire = 20 * (28 * 28 + 1) * 8 * 1514 / 1448 / 4e6
    assert first - usual == pytest.approx(wire, rel=0.1)
    computing = [min(e["modelled"] for e in o.events("compute")) for o in (outcome, plain)]
    assert computing[0] == pytest.approx(1.2 * computing[1]), "on 120 samples, not on 100"


def test_a_clients_state_survives_its_restart(tmp_path: Path) -> None:
    # With this seed client2 is drawn in rounds 1 and 3; it is away for a while in round 2.
    changes = ("topology.clients=2", "protocol.clients_per_round=1", "protocol.rounds=3", "seed=4")
    whole = run(tmp_path / "whole", "feddyn", *changes)
    second = next(event for event in whole.events("round") if event["round"] == 2)
    middle = (second["start"] + second["end"]) / 2
    drawn = {event["round"]: event["node"] for event in whole.events("compute")}
    assert drawn == {1: "client2", 2: "client1", 3: "client2"}
    away = (("crash", middle), ("restart", middle + 0.05))
    events = ", ".join(f'{{event = "{e}", node = "client2", at = {at}}}' for e, at in away)

    outcome = run(tmp_path / "restarted", "feddyn", *changes, f"timeline=[{events}]")

    assert [event["node"] for event in outcome.events("restart")] == ["client2"]
    assert outcome.summary["final_model"] == whole.summary["final_model"]
