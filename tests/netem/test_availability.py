"""When clients leave and come back: drawn by the seed, or as given."""

from itertools import islice, pairwise
from statistics import fmean

import pytest

from contracts.availability import Availability, OnOff
from netem.availability import Change, away_at_first, changes, changes_of

CLIENTS = [f"client{number}" for number in range(1, 201)]


def process(on: float = 60, off: float = 20, first: float = 0.75, seed: int = 1) -> Availability:
    return Availability(process=OnOff(on=on, off=off, first=first, seed=seed), times={})


def test_a_client_is_there_and_away_for_exponential_times_with_these_means() -> None:
    found = list(islice(changes_of(process(), "client1"), 4000))

    there, away = (
        [after.at - before.at for before, after in pairwise(found) if before.there is kind]
        for kind in (True, False)
    )
    assert [change.there for change in found[:4]] in ([True, False] * 2, [False, True] * 2)
    assert fmean(there) == pytest.approx(60, rel=0.1)
    assert fmean(away) == pytest.approx(20, rel=0.1)
    # Of an exponential distribution, 1 - 1/e are below the mean.
    assert sum(time < 60 for time in there) / len(there) == pytest.approx(0.632, abs=0.04)


def test_the_share_there_at_first_is_as_asked() -> None:
    for first in (0.0, 0.3, 1.0):
        away = sum(away_at_first(process(first=first), client) for client in CLIENTS)
        assert away / len(CLIENTS) == pytest.approx(1 - first, abs=0.1)
    assert away_at_first(process(first=0.0), "client1")
    assert not away_at_first(process(first=1.0), "client1")


def test_what_a_client_does_depends_on_the_seed_and_its_name_only() -> None:
    alone = list(islice(changes(process(), ["client7"]), 20))
    among = [c for c in islice(changes(process(), CLIENTS), 8000) if c.client == "client7"]

    assert among[:20] == alone[: len(among)]
    assert len(among) > 5
    assert alone != list(islice(changes(process(seed=2), ["client7"]), 20))
    assert alone != list(islice(changes(process(), ["client8"]), 20))


def test_the_changes_of_all_clients_come_in_order_of_time() -> None:
    times = [change.at for change in islice(changes(process(), CLIENTS), 2000)]

    assert times == sorted(times)
    assert times[0] == 0  # some are away at first


def test_given_times_are_worked_out_by_hand() -> None:
    times = {"client1": ((0.0, 5.0), (8.0, None)), "client2": ((3.0, 4.0),)}
    given = Availability(times=times)

    assert list(changes(given, ["client1", "client2", "client3"])) == [
        Change(0.0, "client2", there=False),
        Change(3.0, "client2", there=True),
        Change(4.0, "client2", there=False),
        Change(5.0, "client1", there=False),
        Change(8.0, "client1", there=True),
    ]
    assert [away_at_first(given, f"client{number}") for number in (1, 2, 3)] == [False, True, False]
