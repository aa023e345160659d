"""Who gets how much of links that several cross, and how long that takes: worked out by hand."""

from math import inf

import pytest

from reports.bottleneck.fair_shares import fair_shares
from reports.bottleneck.flows import Flows

SHARED = ("cloud-wan", "down")
OWN = [(f"client{number}-wan", "up") for number in (1, 2, 3)]


def test_who_can_use_less_leaves_the_rest_to_the_others() -> None:
    capacity = {SHARED: 9.0, OWN[0]: 1.0, OWN[1]: 100.0, OWN[2]: 100.0}

    found = fair_shares([(own, SHARED) for own in OWN], capacity)

    assert found == [(1.0, OWN[0]), (4.0, SHARED), (4.0, SHARED)]


def test_two_links_in_a_row_of_three_transfers() -> None:
    # The long one and the second share the first link's 10; the third has what is left of 12.
    first, second = ("a-b", "up"), ("b-c", "up")

    found = fair_shares([(first, second), (first,), (second,)], {first: 10.0, second: 12.0})

    assert found == [(5.0, first), (5.0, first), (7.0, second)]


def test_what_no_link_limits_takes_no_time() -> None:
    assert fair_shares([(OWN[0],), ()], {}) == [(inf, None), (inf, None)]


def test_the_last_one_is_alone_at_its_end() -> None:
    # 4 and 8 bits share 4 bit/s: the first ends after 2 s, the second has 4 bits left and is alone.
    flows = Flows({SHARED: 4.0})
    flows.begin(1, (SHARED,), 4.0, 0.0)
    flows.begin(2, (SHARED,), 8.0, 0.0)

    assert flows.next_end() == pytest.approx(2.0)
    assert list(flows.ended(2.0)) == [1]
    assert flows.next_end() == pytest.approx(3.0)
    (last,) = flows.ended(3.0).values()
    assert dict(last.limited) == {SHARED: pytest.approx(3.0)}
    assert flows.next_end() == inf
    assert flows.most[SHARED] == 2


def test_one_that_comes_later_slows_the_first_from_then_on() -> None:
    # Alone for a second, 4 of 12 bits cross; then both have 2 bit/s.
    flows = Flows({SHARED: 4.0})
    flows.begin(1, (SHARED,), 12.0, 0.0)
    flows.begin(2, (SHARED,), 2.0, 1.0)

    assert flows.next_end() == pytest.approx(2.0)
    assert list(flows.ended(2.0)) == [2]
    assert flows.next_end() == pytest.approx(3.5)
