"""What names may do to a CSV file."""

import pytest

from contracts.tables import plain_cell


@pytest.mark.parametrize("name", ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-x", "\t=1"])
def test_a_name_that_a_spreadsheet_would_compute_is_made_plain(name: str) -> None:
    assert plain_cell(name) == f"'{name}"


@pytest.mark.parametrize("name", ["lte", "-5", "+3e4", "10mbit =", ""])
def test_other_names_and_numbers_stay_as_they_are(name: str) -> None:
    assert plain_cell(name) == name
