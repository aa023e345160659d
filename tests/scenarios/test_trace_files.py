"""Traces as files: what is read, and what is refused with the line that is wrong."""

from pathlib import Path

import pytest

from contracts.errors import BadInput
from contracts.traces import Row
from netem.profiles import trace_generator
from scenarios import trace_files


def test_rows_are_time_and_rate_for_both_ways() -> None:
    trace = trace_files.parse("0,2e6\n0.5,1000000\n", "t.csv")

    assert trace.rows == (Row(0.0, 2e6, 2e6), Row(0.5, 1e6, 1e6))


def test_the_last_row_lasts_as_long_as_the_one_before_it() -> None:
    assert trace_files.parse("0,2e6\n0.5,1e6\n2.5,3e6\n", "t.csv").seconds == 4.5


def test_names_in_the_first_line_say_what_the_columns_are() -> None:
    text = "# a comment\ntime,loss,rate_down,rate_up,delay\n\n0,1%,20mbit,5mbit,30ms\n"

    (row,) = trace_files.parse(text, "t.csv").rows

    assert row == Row(0.0, 5e6, 20e6, 0.03, 0.01)


def test_delay_and_loss_may_follow_the_rate_without_names() -> None:
    (row,) = trace_files.parse("0,2e6,0.01,0.5", "t.csv").rows

    assert (row.delay, row.loss) == (0.01, 0.5)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("0,2e6\n1,fast\n", 2, "rate"),
        ("0,2e6\n1,2e6\n0.5,1e6\n", 3, "in order"),
        ("0,2e6\n0.05,1e6\n", 2, "at most ten a second"),
        ("1,2e6\n2,1e6\n", 1, "begin at 0"),
        ("0,2e6\n1,-3\n", 2, "cannot be"),
        ("0,nan\n", 1, "cannot be"),
        ("0,2e6,200\n", 1, "delay 200 cannot be"),
        ("0,2e6,0.1,1.5\n", 1, "loss 1.5 cannot be"),
        ("time,rate\n0,2e6\n1\n", 3, "fields"),
        ("time,speed\n0,2e6\n", 1, '"speed"'),
        ("time,rate_up\n0,2e6\n", 1, "rate_up and rate_down"),
        ("1\n3\n2\n", 3, "Mahimahi"),
        ("1\n2.5\n", 2, "Mahimahi"),
    ],
)
def test_a_bad_row_is_refused_with_its_file_and_line(text: str, line: int, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        trace_files.parse(text, "t.csv")

    assert f"t.csv, line {line}: " in str(refused.value)
    assert words in str(refused.value)


@pytest.mark.parametrize("text", ["", "# nothing\n", "time,rate\n", "0,0\n1,0\n"])
def test_a_trace_that_carries_nothing_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"t\.csv"):
        trace_files.parse(text, "t.csv")


def test_deliveries_become_a_rate_for_each_100_ms() -> None:
    # Packets of 1504 bytes at 1, 50, 100 | 101 | none | 301 to 400: 3, 1, 0 and 2 of them.
    trace = trace_files.parse("1\n50\n100\n101\n310\n400\n", "m")

    packet = 1504 * 8 / 0.1  # bits per second when one comes in 100 ms: 120,320
    least = 1514 * 8 / 0.1  # one frame in the shortest step: 121,120
    rates = [row.rate_up for row in trace.rows]
    assert rates == pytest.approx([3 * packet, least, least, 2 * packet])
    assert [row.at for row in trace.rows] == [0.0, 0.1, 0.2, 0.3]
    assert trace.seconds == 0.4


def test_what_is_left_of_deliveries_at_the_end_belongs_to_the_last_bin() -> None:
    # 250 ms: bins of 100 and 150 ms with 1 and 3 packets.
    trace = trace_files.parse("100\n120\n200\n250\n", "m")

    assert trace.seconds == 0.25
    assert trace.rows[1].rate_up == pytest.approx(3 * 1504 * 8 / 0.15)


def test_deliveries_that_repeat_within_100_ms_are_a_constant_rate() -> None:
    trace = trace_files.parse("1\n", "m")  # one packet a millisecond

    assert trace.rows == (Row(0.0, 12_032_000.0, 12_032_000.0),)


def test_a_rate_of_zero_becomes_one_frame_in_the_shortest_step() -> None:
    trace = trace_files.parse("0,1e6\n2,0\n2.5,1e6\n", "t.csv")

    assert trace.rows[1].rate_up == 1514 * 8 / 0.5


def test_before_time_zero_links_have_the_first_row_that_is_no_outage() -> None:
    assert trace_files.parse("0,0\n1,5e6\n2,9e6\n", "t.csv").first.rate_up == 5e6
    assert trace_files.parse("0,1e6\n1,5e6\n", "t.csv").first.rate_up == 1e6


def test_an_unknown_trace_is_refused_with_a_name_that_is_known() -> None:
    with pytest.raises(BadInput, match="lte-driving"):
        trace_files.load("lte-drivin", "links.client-edge.trace")


def test_a_file_beside_the_scenario_gets_its_full_path(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("0,1e6\n")
    links = {"a": {"trace": "own.csv"}, "b": {"trace": "lte-driving"}, "c": {"trace": "no.csv"}}

    found = trace_files.resolve_trace_paths({"links": links, "n": [1]}, tmp_path)

    assert [link["trace"] for link in found["links"].values()] == [
        str(tmp_path / "own.csv"),
        "lte-driving",
        "no.csv",
    ]


@pytest.mark.parametrize("name", trace_generator.names())
def test_the_traces_that_come_along_are_what_the_generator_makes(name: str) -> None:
    file = trace_generator.FOLDER / f"{name}.csv"

    assert file.read_text() == trace_generator.file_text(name)
    assert 200 <= len(trace_files.load(name).rows) <= 400
