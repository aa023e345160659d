"""Smaller messages, with packets: what the links carry is what was packed, and training goes on."""

from pathlib import Path

import pytest

from tests.emulation.test_handover import event
from tests.emulation.test_presence import TREE_NETWORK, run
from tests.support import emulated

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.xdist_group("packing")]

STAR = """
[topology]
kind = "star"
clients = 3
[links]
client-cloud = { rate = "1mbit", delay = "10ms" }
[protocol]
name = "PROTOCOL"
rounds = 6
"""
TREE = (
    TREE_NETWORK
    + """
[protocol]
name = "tempo"
rounds = 3
c = 2
edge_rounds = 2
[wire]
up = "topk:0.1+int8"
[wire.tiers.edge-cloud]
up = "fp16"
down = "fp16"
"""
)


def star(
    folder: Path, wire: str, protocol: str = "fedavg", more: str = "", rounds: int = 6
) -> emulated.Outcome:
    folder.mkdir()
    scenario = STAR.replace("PROTOCOL", protocol).replace("rounds = 6", f"rounds = {rounds}")
    return run(folder, scenario + wire + more)


def sizes(outcome: emulated.Outcome, phase: str, peer: str | None = None) -> list[int]:
    """The payloads in order of time."""
    lines = sorted(outcome.events(phase), key=lambda line: (line["end"], line["node"]))
    return [line["bytes"] for line in lines if peer in (None, line["peer"])]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> emulated.Outcome:
    return star(tmp_path_factory.mktemp("packing") / "plain", "")


def test_fp32_is_byte_for_byte_what_it_was(plain: emulated.Outcome, tmp_path: Path) -> None:
    same = star(tmp_path / "same", '[wire]\nup = "fp32"\ndown = "fp32"\n')

    for name in ("events.jsonl", "links.csv", "rounds.csv", "final.model"):
        assert (same.directory / name).read_bytes() == (plain.directory / name).read_bytes()


def test_the_links_carry_what_was_packed(plain: emulated.Outcome, tmp_path: Path) -> None:
    packed = star(tmp_path / "packed", '[wire]\nup = "int8"\ndown = "fp16"\n')

    whole = sizes(plain, "upload")[0]
    assert all(whole / 4 < size < whole / 4 + 100 for size in sizes(packed, "upload"))
    assert set(sizes(packed, "download")) == {whole // 2}
    on_wire = packed.summary["bytes_on_wire"] / plain.summary["bytes_on_wire"]
    assert on_wire == pytest.approx((1 / 4 + 1 / 2) / 2, abs=0.03)
    assert packed.summary["wire_overhead"] < 0.15  # of the payload that was really sent
    assert packed.summary["elapsed_seconds"] < 0.6 * plain.summary["elapsed_seconds"]
    assert packed.summary["final_accuracy"] == pytest.approx(
        plain.summary["final_accuracy"], abs=0.05
    )


def test_the_largest_changes_are_enough_both_ways_and_after_a_crash(tmp_path: Path) -> None:
    crash = event(1.0, "crash", node="client2") + event(2.0, "restart", node="client2")
    wire = '[wire]\nup = "topk:0.2"\ndown = "topk:0.2+fp16"\n'

    first, second = (
        star(tmp_path / name, wire, more=crash, rounds=14) for name in ("first", "second")
    )

    for name in ("events.jsonl", "links.csv", "final.model"):
        assert (first.directory / name).read_bytes() == (second.directory / name).read_bytes()
    client2 = [e for e in first.events("download") if e["node"] == "client2"]
    after = [e["bytes"] for e in sorted(client2, key=lambda e: e["end"]) if e["end"] > 2.0]
    assert after[0] > 1.5 * after[1]  # whole, and then a change
    assert first.summary["final_accuracy"] > 0.15


@pytest.mark.parametrize("protocol", ["scaffold", "fedbuff", "fedadp"])
def test_any_method_can_be_packed(tmp_path: Path, protocol: str) -> None:
    outcome = star(tmp_path / "run", '[wire]\nup = "topk:0.1+int8"\ndown = "int8"\n', protocol)

    assert outcome.summary["rounds"] == 6 and not outcome.summary["refused"]


def test_every_tier_has_its_own(tmp_path: Path) -> None:
    outcome = run(tmp_path, TREE)

    whole = sizes(outcome, "download", "inst1")[0]  # clients are sent models as they are
    assert set(sizes(outcome, "download", "cloud")) == {whole // 2}
    assert set(sizes(outcome, "upload", "cloud")) == {whole // 2}
    assert max(sizes(outcome, "upload", "inst1")) < whole / 7
