"""Methods for cells that overlap, with numbers worked out by hand, and the limits they share."""

from typing import Any

import numpy as np
import pytest

from contracts.training import Result
from protocols import es_fl, fedmes, hierfavg, multicell
from protocols.base import Package, Tensors
from protocols.wire import Refused


def model(*values: float) -> Tensors:
    return {"w": np.array(values, np.float32)}


def update(cells: Any, *values: float) -> Package:
    return Package({"samples": 10, "cells": cells}, model(*values))


def heard(**models: tuple[float, ...]) -> dict[str, Package]:
    return {cell: Package({"epochs": 5}, model(*values)) for cell, values in models.items()}


def edge(alpha: float = 0.5) -> multicell.Server:
    return multicell.Server(multicell.Settings(rounds=1, alpha=alpha), model(7))


def aggregated(server: Any, *updates: Package) -> list[float]:
    for number, package in enumerate(updates):
        server.add(f"client{number}", package)
    server.finish()
    values: list[float] = server.model["w"].tolist()
    return values


def client(beta: float = 0.5) -> multicell.Client:
    return multicell.Client(multicell.Settings(rounds=1, beta=beta))


def test_an_overlap_client_counts_alpha_times_one_of_the_cells_own() -> None:
    # (3): |N| = 2, |O| = 1, alpha = .5: (1 * 1 + 1 * 2 + .5 * 6) / (2 + .5) = 2.4
    found = aggregated(edge(0.5), update(1, 1), update(1, 2), update(2, 6))

    assert found == [pytest.approx(2.4)]


@pytest.mark.parametrize(
    ("reading", "share"), [("clients", 12 / 48), ("printed", 288 / 1584), ("groups", 1 / 3)]
)
def test_the_share_of_the_overlap_under_each_reading(reading: str, share: float) -> None:
    # u = 36, |O| = 24, alpha = .5: 36 + 12; 36^2 + .5 * 24^2; 1 + .5
    settings = multicell.Settings(rounds=1, alpha=0.5, reading=reading)
    updates = [update(1, 0.0)] * 36 + [update(2, 1.0)] * 24

    found = aggregated(multicell.Server(settings, model(7)), *updates)

    assert found == [pytest.approx(share)]


@pytest.mark.parametrize("reading", ["printed", "groups"])
def test_a_cell_with_one_group_only_has_its_mean_and_one_of_weight_zero_stays(reading: str) -> None:
    settings = multicell.Settings(rounds=1, alpha=0.0, reading=reading)

    own = aggregated(multicell.Server(settings, model(7)), update(1, 2.0), update(1, 4.0))
    nobody = aggregated(multicell.Server(settings, model(7)), update(2, 2.0))

    assert (own, nobody) == ([3.0], [7.0])


def test_a_reading_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="reading must be clients or printed or groups"):
        multicell.Settings(rounds=1, reading="median")


def test_alpha_of_one_is_plain_averaging() -> None:
    updates = [update(1, 1.25), update(2, 3.5), update(2, 0.75)]
    plain = fedmes.Server(fedmes.Settings(rounds=1), model(0))

    assert aggregated(edge(1.0), *updates) == aggregated(plain, *updates)


def test_alpha_of_zero_is_es_fl_on_the_cells_own_clients() -> None:
    own = [update(1, 1.25), update(1, 3.5)]
    alone = es_fl.Server(es_fl.Settings(rounds=1), model(0))

    assert aggregated(edge(0.0), *own, update(2, 100)) == aggregated(alone, *own)


def test_an_edge_server_whose_clients_count_nothing_keeps_its_model() -> None:
    assert aggregated(edge(0.0), update(2, 100)) == [7]


def test_rounds_do_not_mix() -> None:
    server = edge(1.0)
    aggregated(server, update(1, 100))

    assert aggregated(server, update(1, 4), update(1, 6)) == [5]


def test_an_update_that_does_not_say_how_many_cells_were_heard_is_refused() -> None:
    for cells in (None, 0, "two", True):
        with pytest.raises(Refused):
            edge().add("client1", update(cells, 1))


def test_an_overlap_client_starts_each_model_from_a_mixture() -> None:
    # (4), beta = .5: (1 * 3 + .5 * 9) / 1.5 = 5 for cell a; (1 * 9 + .5 * 3) / 1.5 = 7 for cell b
    jobs = client(0.5).jobs(heard(a=(3,), b=(9,)))

    assert [(job.to, job.model["w"].tolist()) for job in jobs] == [(("a",), [5]), (("b",), [7])]
    assert [job.work.epochs for job in jobs] == [5, 5]


def test_of_three_cells_the_others_are_averaged() -> None:
    # (4), beta = 1: a: (3 + (9 + 15) / 2) / 2 = 7.5
    jobs = client(1.0).jobs(heard(a=(3,), b=(9,), c=(15,)))

    assert jobs[0].model["w"].tolist() == [7.5]


def test_beta_of_zero_leaves_each_cells_model_as_it_is() -> None:
    packages = heard(a=(0.1,), b=(9,))

    jobs = client(0.0).jobs(packages)

    assert [job.model is packages[job.to[0]].tensors for job in jobs] == [True, True]


def test_a_client_alone_in_its_cell_starts_from_the_cells_model() -> None:
    packages = heard(a=(0.1,))
    one = client(0.5)

    (job,) = one.jobs(packages)
    reply = one.reply(packages["a"], Result(model(1), 10, 5, 0.1, 0.0))

    assert job.model is packages["a"].tensors
    assert reply.meta["cells"] == 1


def test_an_overlap_clients_updates_say_so() -> None:
    packages = heard(a=(3,), b=(9,))
    one = client()
    one.jobs(packages)

    assert one.reply(packages["b"], Result(model(1), 10, 5, 0.1, 0.0)).meta["cells"] == 2


def test_in_fedmes_one_averaged_model_is_trained_for_all_cells() -> None:
    (job,) = fedmes.Client(fedmes.Settings(rounds=1)).jobs(heard(a=(3,), b=(9,)))

    assert job.to == ("a", "b")
    assert job.model["w"].tolist() == [6]


def test_hierfavg_has_the_papers_numbers() -> None:
    settings = hierfavg.Settings(rounds=4)

    assert (settings.local_epochs, settings.edge_rounds) == (5, 5)


@pytest.mark.parametrize("wrong", [{"alpha": -0.1}, {"beta": -1.0}, {"local_epochs": 0}])
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        multicell.Settings(rounds=1, **wrong)
