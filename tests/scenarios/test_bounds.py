"""Files beyond what anything here can use: refused in a sentence, at once and without memory."""

import os
from pathlib import Path

import pytest

from contracts.errors import BadInput
from scenarios import (
    availability_files,
    expansion,
    link_draws,
    loader,
    named_files,
    sweeps,
    trace_files,
)
from tests.support.bounded import bounded
from tests.support.spoilt_scenarios import refusal_of_loading


def sentence_of(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with bounded(seconds=10, megabytes=200):
        return refusal_of_loading(str(path))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a = " + b"[" * 2000 + b"]" * 2000, "nested more than 32 deep"),
        (b".".join([b"a"] * 5000) + b" = 1", "nested more than 32 deep"),
        (b"a = " + b"9" * 5000, "a number has more than 64 bits"),
        (b"a = 9223372036854775808", "a number has more than 64 bits"),
        (b'extends = "a\\u0000b"', r"the character '\x00'"),
        (b"# " + b"x" * (5 << 20), "larger than 4 MB"),
        (bytes(range(256)), "not valid TOML"),
    ],
)
def test_toml_beyond_its_bounds_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    sentence = sentence_of(tmp_path / "s.toml", content)

    assert sentence.startswith(f"{tmp_path / 's.toml'}: ")
    assert words in sentence


def test_a_pipe_a_device_and_a_link_to_itself_are_no_scenarios(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "loop.toml").symlink_to("loop.toml")

    for path in (tmp_path / "pipe.toml", Path("/dev/zero"), tmp_path / "loop.toml"):
        with bounded(seconds=10, megabytes=200):
            assert "neither a file nor in the library" in refusal_of_loading(str(path))


def refusal_of_trace(tmp_path: Path, content: str) -> str:
    (tmp_path / "t").write_text(content)
    with bounded(seconds=20, megabytes=300), pytest.raises(BadInput) as caught:
        trace_files.load(str(tmp_path / "t"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1\n99999999999", "lasts 100000000 s; give a part of 10000 s at most"),
        ("1\n" + "9" * 5000, 'line 2: "999999999999999" is not a millisecond'),
        ("0,1mbit\n1e300,1mbit", "line 2: time 1e300 cannot be"),
        ("0,1mbit\n\0", "line 2: has a zero byte"),
        ("0,1mbit" + " " * 20_000, "a line has 20007 characters"),
    ],
)
def test_a_trace_that_no_memory_could_hold_is_refused(
    tmp_path: Path, content: str, words: str
) -> None:
    assert words in refusal_of_trace(tmp_path, content)


def test_a_long_trace_of_deliveries_takes_the_memory_of_its_rates(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("".join(f"{at // 2}\n" for at in range(1, 200_001)))

    with bounded(seconds=30, megabytes=50):
        trace = trace_files.load(str(tmp_path / "t"))

    assert len(trace.rows) == 1000


def test_tables_of_too_many_rows_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named_files, "MOST_ROWS", 1000)
    links, there, trace = (tmp_path / name for name in ("links.csv", "there.csv", "trace.csv"))
    links.write_text("rate,delay\n" + "10mbit,1ms\n" * 1001)
    there.write_text("".join(f"client1,{at},{at}.5\n" for at in range(1001)))
    trace.write_text("".join(f"{at},1mbit\n" for at in range(1001)))

    with pytest.raises(BadInput, match=r"links.csv: has more than 1000 rows"):
        link_draws.load_table(str(links))
    with pytest.raises(BadInput, match=r"there.csv: has more than 1000 rows"):
        availability_files.load(str(there), ["client1"])
    with pytest.raises(BadInput, match=r"trace.csv: has more than 1000 rows"):
        trace_files.load(str(trace))


def test_weights_whose_sum_is_no_number_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("rate,weight\n1mbit,1e308\n1mbit,1e308\n")

    with pytest.raises(BadInput, match="has no rows with a weight"):
        link_draws.load_table(str(tmp_path / "t.csv"))


@pytest.mark.parametrize(
    "lines",
    [
        f"seeds = {list(range(200_000))}",
        "[runs.grid]\n" + "".join(f'"protocol.{key}" = {list(range(30))}\n' for key in "abcd"),
    ],
)
def test_a_sweep_of_more_runs_than_anybody_can_wait_for_is_refused(
    tmp_path: Path, lines: str
) -> None:
    (tmp_path / "s.toml").write_text(f'name = "s"\n[[runs]]\nscenario = "quickstart"\n{lines}')

    with bounded(seconds=20, megabytes=300), pytest.raises(BadInput) as caught:
        expansion.expand(sweeps.read(str(tmp_path / "s.toml")), expansion.SweepOptions())

    assert "and 10000 are the most; give fewer seeds or values" in str(caught.value)


def test_a_link_that_lets_nothing_through_is_refused() -> None:
    with pytest.raises(BadInput, match=r'"100%" lets nothing through; an outage belongs in'):
        loader.load("quickstart", changes=["links.edge-cloud.loss=100%"])


def test_a_wait_longer_than_clocks_can_count_is_refused() -> None:
    with pytest.raises(BadInput, match="longer than clocks can count"):
        loader.load("quickstart", changes=["limits.join=1e300s"])
