"""Quantities as people write them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios import quantities

POSITIVE = st.floats(min_value=1e-3, max_value=1e6).map(lambda number: round(number, 6))


@pytest.mark.parametrize(
    ("text", "rate"),
    [("20mbit", 20e6), ("1.5 Mbit", 1.5e6), ("250kbps", 250e3), ("1e1gbit", 10e9), (" 8bit ", 8.0)],
)
def test_a_rate_is_in_bits_per_second(text: str, rate: float) -> None:
    assert quantities.bits_per_second(text) == rate


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10ms", 0.01),
        ("2min", 120.0),
        ("1h", 3600.0),
        ("25us", 25e-6),
        (3, 3.0),
        (0.5, 0.5),
        (0, 0.0),
    ],
)
def test_a_bare_number_is_a_time_in_seconds(value: str | float, seconds: float) -> None:
    assert quantities.seconds(value) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("value", "size"), [("64kb", 64_000), ("1 MiB", 1 << 20), ("2gb", 2_000_000_000), (17, 17)]
)
def test_a_bare_number_is_a_size_in_bytes(value: str | int, size: int) -> None:
    assert quantities.size_in_bytes(value) == size


@pytest.mark.parametrize(("value", "share"), [("0.5%", 0.005), ("0.5", 0.5), (1, 1.0), ("100%", 1)])
def test_a_share_may_be_a_percentage(value: str | float, share: float) -> None:
    assert quantities.share(value) == pytest.approx(share)


@pytest.mark.parametrize(
    "text",
    [
        "20",
        "",
        "mbit",
        "-2mbit",
        "0mbit",
        "2mb",
        "2 m bit",
        "nanmbit",
        "infmbit",
        "1e999mbit",
        "٢mbit",
    ],
)
def test_what_is_no_rate_is_refused_with_an_example_or_a_bound(text: str) -> None:
    with pytest.raises(ValueError, match=r'like "20mbit"|above zero'):
        quantities.bits_per_second(text)


@pytest.mark.parametrize("value", ["10", "-1ms", "1e999h", -1, math.inf, math.nan])
def test_what_is_no_time_is_refused(value: str | float) -> None:
    with pytest.raises(ValueError, match=r'like "10ms"|not a time'):
        quantities.seconds(value)


@pytest.mark.parametrize("value", ["64", "64mbit", "1e999gb", "0kb", 0, -5])
def test_what_is_no_size_is_refused(value: str | int) -> None:
    with pytest.raises(ValueError, match=r'like "64kb"|not a size'):
        quantities.size_in_bytes(value)


@pytest.mark.parametrize("value", ["101%", "1.01", "-1%", -0.1, 2, math.nan, "half"])
def test_what_is_no_share_is_refused(value: str | float) -> None:
    with pytest.raises(ValueError, match=r"not a share|like \"0.5%\""):
        quantities.share(value)


@given(POSITIVE)
def test_units_agree_with_each_other(number: float) -> None:
    assert quantities.bits_per_second(f"{number}mbit") == pytest.approx(
        quantities.bits_per_second(f"{number}kbit") * 1000
    )
    assert quantities.seconds(f"{number}s") == pytest.approx(quantities.seconds(number))
    assert quantities.seconds(f"{number}ms") * 1000 == pytest.approx(number)


@given(st.text(max_size=12))
def test_any_text_parses_to_a_finite_quantity_or_is_a_value_error(text: str) -> None:
    for parse in (
        quantities.bits_per_second,
        quantities.seconds,
        quantities.size_in_bytes,
        quantities.share,
    ):
        try:
            assert 0 <= parse(text) < math.inf
        except ValueError as error:
            assert "must" in str(error) or "write it like" in str(error)


@given(st.floats())
def test_any_number_is_a_time_or_a_value_error(number: float) -> None:
    try:
        assert quantities.seconds(number) == number
    except ValueError:
        assert not 0 <= number <= quantities.LONGEST
