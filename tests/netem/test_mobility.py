"""Where clients walk, and when they come to hear other cells."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netem import mobility
from netem.mobility import CellChange, Leg, Point

TWO = mobility.centres(2, 200.0)
THREE = mobility.centres(3, 200.0)
HOMES = [(0,), (1,), (2,), (0, 1), (1, 2), (2, 0)]
STEPS = 300


def steps(
    seed: int = 1, homes: Sequence[Sequence[int]] = HOMES, radius: float = 115.0, dwell: float = 5.0
) -> list[Leg | CellChange]:
    return list(islice(mobility.walk(homes, THREE, radius, 1.4, dwell, seed), STEPS))


def of_client(found: list[Leg | CellChange], client: int) -> list[Leg | CellChange]:
    return [step for step in found if step.client == client]


def changes_on(
    origin: Point, target: Point, home: Sequence[int], centres: Sequence[Point] = TWO
) -> list[CellChange]:
    """Those of one line, walked from second 10 on at 2 m/s, with cells that reach 115 m."""
    leg = Leg(10.0, 10.0 + math.dist(origin, target) / 2, 0, origin, target)
    found = mobility._followed(iter([leg]), home, centres, 115.0)
    return [step for step in found if isinstance(step, CellChange)]


def sampled(leg: Leg) -> Iterator[tuple[float, Point]]:
    for share in (number / 40 for number in range(1, 40)):
        yield leg.start + share * (leg.end - leg.start), mobility._along(leg, share)


# The map


def test_one_edge_server_is_the_origin_and_two_are_a_line() -> None:
    assert mobility.centres(1, 200.0) == [(0.0, 0.0)]
    assert mobility.centres(2, 200.0) == [(0.0, 0.0), (200.0, 0.0)]


def test_three_edge_servers_are_a_triangle() -> None:
    sides = [math.dist(THREE[one], THREE[other]) for one, other in ((0, 1), (1, 2), (2, 0))]

    assert sides == pytest.approx([200.0] * 3)


@pytest.mark.parametrize("cells", [4, 5, 7, 10, 25])
def test_more_edge_servers_stand_apart_and_each_has_neighbours(cells: int) -> None:
    centres = mobility.centres(cells, 200.0)

    for own in centres:
        itself, nearest, *_ = sorted(math.dist(own, other) for other in centres)
        assert [itself, nearest] == pytest.approx([0.0, 200.0])


def test_the_cells_heard_are_those_that_reach_there_the_nearest_first() -> None:
    assert mobility.cells_heard((95.0, 0.0), TWO, 115.0) == (0, 1)
    assert mobility.cells_heard((105.0, 0.0), TWO, 115.0) == (1, 0)
    assert mobility.cells_heard((10.0, 0.0), TWO, 115.0) == (0,)


def test_where_no_cell_reaches_the_nearest_is_heard() -> None:
    assert mobility.cells_heard((99.0, 80.0), TWO, 115.0) == (0,)
    assert mobility.cells_heard((900.0, 0.0), TWO, 115.0) == (1,)


# One line


def test_on_the_line_through_two_cells_both_are_heard_where_they_overlap() -> None:
    first, second = changes_on((-100.0, 0.0), (300.0, 0.0), home=(0,))

    # the second cell begins at x = 200 - 115, after 185 m; the first ends at 115, after 215 m
    assert (first.heard, second.heard) == ((0, 1), (1,))
    assert [first.at, second.at] == pytest.approx([10 + 92.5, 10 + 107.5])
    assert first.position == pytest.approx((85.0, 0.0))
    assert second.position == pytest.approx((115.0, 0.0))


def test_beside_the_overlap_the_bisector_is_the_border() -> None:
    # At y = 60 the cells reach 98.1 m to either side: neither is heard from x = 98.1 to 101.9.
    (change,) = changes_on((0.0, 60.0), (200.0, 60.0), home=(0,))

    assert change.heard == (1,)
    assert change.at == pytest.approx(10 + 50)
    assert change.position == pytest.approx((100.0, 60.0))


def test_far_from_all_cells_each_bisector_on_the_way_is_a_border() -> None:
    row = [(0.0, 0.0), (200.0, 0.0), (400.0, 0.0)]

    found = changes_on((-50.0, 900.0), (500.0, 900.0), home=(0,), centres=row)

    assert [change.heard for change in found] == [(1,), (2,)]
    assert [change.position[0] for change in found] == pytest.approx([100.0, 300.0])


def test_a_line_that_only_touches_a_cell_does_not_hear_it() -> None:
    centres = [(0.0, 0.0), (0.0, 115.0)]

    assert changes_on((-50.0, 0.0), (50.0, 0.0), home=(0,), centres=centres) == []


def test_a_line_may_begin_in_an_overlap_and_end_in_it() -> None:
    found = changes_on((90.0, 0.0), (110.0, 0.0), home=(1, 0))

    assert found == []


# Walks


@given(st.integers(0, 10**6), st.sampled_from([60.0, 99.0, 115.0, 118.0, 150.0]))
@settings(max_examples=15, deadline=None)
def test_between_changes_the_same_cells_are_heard_all_the_way(seed: int, radius: float) -> None:
    homes = [(0,), (1,), (2,)]
    found = steps(seed, homes, radius)

    for client, home in enumerate(homes):
        own = of_client(found, client)
        changes = [step for step in own if isinstance(step, CellChange)]
        last = own[-1].start if isinstance(own[-1], Leg) else own[-1].at
        for leg in (step for step in own if isinstance(step, Leg)):
            for at, position in sampled(leg):
                if at > last or any(abs(change.at - at) < 1e-6 for change in changes):
                    continue
                before = [change.heard for change in changes if change.at < at]
                expected = before[-1] if before else home
                assert set(mobility.cells_heard(position, THREE, radius)) == set(expected)


def test_every_change_is_one_of_the_set_that_is_heard() -> None:
    found = steps()

    for client, home in enumerate(HOMES):
        changes = [step for step in of_client(found, client) if isinstance(step, CellChange)]
        sets = [set(home), *(set(change.heard) for change in changes)]
        assert len(sets) > 3
        assert all(one != next_one for one, next_one in pairwise(sets))


def test_cells_of_a_change_come_nearest_first() -> None:
    for change in (step for step in steps(radius=150.0) if isinstance(step, CellChange)):
        distances = [math.dist(change.position, THREE[cell]) for cell in change.heard]
        assert distances == sorted(distances)


def test_steps_come_in_order_of_time() -> None:
    times = [step.start if isinstance(step, Leg) else step.at for step in steps()]

    assert times == sorted(times)
    assert times[0] == 0.0


def test_each_leg_starts_where_the_last_one_ended_after_a_pause() -> None:
    legs = [step for step in of_client(steps(), 4) if isinstance(step, Leg)]

    assert len(legs) > 3
    for one, following in pairwise(legs):
        assert following.origin == one.target
        assert following.start == pytest.approx(one.end + 5.0)
        assert one.end - one.start == pytest.approx(math.dist(one.origin, one.target) / 1.4)


def test_the_same_seed_walks_the_same_way_and_another_one_does_not() -> None:
    assert steps(seed=3) == steps(seed=3)
    assert steps(seed=3) != steps(seed=4)


def test_a_client_walks_the_same_way_whoever_else_is_there() -> None:
    alone = of_client(steps(homes=HOMES[:1]), 0)
    among_others = of_client(steps(), 0)

    assert among_others == alone[: len(among_others)]


def test_clients_start_where_exactly_their_home_cells_are_heard() -> None:
    for seed in range(20):
        starts = mobility.starting_points(HOMES, THREE, 115.0, seed)
        legs = [step for step in steps(seed) if isinstance(step, Leg)][: len(HOMES)]

        for home, start in zip(HOMES, starts, strict=True):
            assert set(mobility.cells_heard(start, THREE, 115.0)) == set(home)
        assert [leg.origin for leg in legs] == starts


def test_starts_are_spread_evenly_over_the_whole_region() -> None:
    starts = mobility.starting_points([(0,)] * 4000, TWO, 100.0, 1)

    # a disk of its own: a quarter of it lies within half the radius
    within = sum(math.dist(start, TWO[0]) <= 50.0 for start in starts)
    left = sum(x < 0 for x, _ in starts)
    assert within / 4000 == pytest.approx(0.25, abs=0.03)
    assert left / 4000 == pytest.approx(0.5, abs=0.03)


def test_way_points_are_spread_evenly_over_the_union_of_the_cells() -> None:
    points = mobility._way_points(mobility._draws(1, 0), TWO, 150.0)
    drawn = list(islice(points, 6000))

    # two disks of radius 150 that are 200 apart share a lens of this area
    lens = 2 * 150**2 * math.acos(100 / 150) - 100 * math.sqrt(4 * 150**2 - 200**2)
    union = 2 * math.pi * 150**2 - lens
    shared = sum(len(mobility.cells_heard(point, TWO, 150.0)) == 2 for point in drawn)
    left = sum(x < 100 for x, _ in drawn)
    assert all(min(math.dist(point, centre) for centre in TWO) <= 150.0 for point in drawn)
    assert shared / 6000 == pytest.approx(lens / union, abs=0.02)
    assert left / 6000 == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    ("home", "radius", "what"),
    [
        ((0, 1), 90.0, "client1 where it hears cell1 and cell2 alone"),
        ((0, 1, 2), 115.0, "client1 where it hears cell1 and cell2 and cell3 alone"),
    ],
)
def test_a_home_that_the_map_does_not_have_is_refused(
    home: tuple[int, ...], radius: float, what: str
) -> None:
    with pytest.raises(ValueError, match=what):
        mobility.walk([home], THREE, radius, 1.4, 0.0, 1)


def test_a_cell_that_others_cover_has_no_place_of_its_own() -> None:
    nine = mobility.centres(9, 200.0)  # the fifth is in the middle

    with pytest.raises(ValueError, match="where it hears cell5 alone"):
        mobility.starting_points([(4,)], nine, 250.0, 1)


def test_three_cells_overlap_once_they_reach_the_middle() -> None:
    (start,) = mobility.starting_points([(0, 1, 2)], THREE, 117.0, 1)  # the middle is 115.5 m away

    assert set(mobility.cells_heard(start, THREE, 117.0)) == {0, 1, 2}
