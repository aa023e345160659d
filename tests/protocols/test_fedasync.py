"""FedAsync's mixing and its functions of staleness, with numbers worked out by hand."""

import numpy as np
import pytest

from protocols import fedasync, registry
from protocols.base import Package, Tensors
from protocols.streaming import STALENESS
from protocols.wire import Refused


def settings(**given: object) -> fedasync.Settings:
    return fedasync.Settings(**{"rounds": 1, **given})  # type: ignore[arg-type]


def model(*values: float) -> Tensors:
    return {"w": np.array(values, np.float32)}


def update(staleness: int, *values: float, samples: object = 10) -> Package:
    return Package({"samples": samples, STALENESS: staleness}, model(*values))


def test_an_update_that_nobody_overtook_is_mixed_in_with_alpha() -> None:
    server = fedasync.Server(settings(alpha=0.6), model(1, 0))

    server.add("client1", update(0, 2, -1))
    decided = server.finish()

    # 0.4 * 1 + 0.6 * 2 and 0.4 * 0 - 0.6 * 1
    assert server.model["w"] == pytest.approx([1.6, -0.6])
    assert decided == {"staleness": {"client1": 0}, "weight": {"client1": 0.6}}


def test_a_stale_update_counts_less() -> None:
    server = fedasync.Server(settings(alpha=0.6, a=0.5), model(1))

    server.add("client1", update(3, 2))
    decided = server.finish()

    # s = (3 + 1) ** -0.5 = 0.5; 0.7 * 1 + 0.3 * 2
    assert server.model["w"] == pytest.approx([1.3])
    assert decided["weight"]["client1"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("function", "staleness", "expected"),
    [
        ("constant", 100, 1.0),
        ("polynomial", 0, 1.0),
        ("polynomial", 8, 1 / 3),  # 9 ** -0.5
        ("hinge", 0, 1.0),
        ("hinge", 4, 1.0),  # the last one before the hinge
        ("hinge", 5, 1 / 11),  # 1 / (10 * (5 - 4) + 1)
        ("hinge", 14, 1 / 101),
    ],
)
def test_the_functions_of_staleness(function: str, staleness: int, expected: float) -> None:
    a = 10.0 if function == "hinge" else 0.5
    chosen = settings(function=function, a=a, b=4.0)

    assert fedasync.FUNCTIONS[function](chosen, staleness) == pytest.approx(expected)


def test_counts_of_batches_stay_whole() -> None:
    before = {"bn.num_batches_tracked": np.array(3, np.int64)}
    server = fedasync.Server(settings(alpha=0.5), before)

    server.add(
        "client1",
        Package({"samples": 1, STALENESS: 0}, {"bn.num_batches_tracked": np.array(10, np.int64)}),
    )
    server.finish()

    mixed = server.model["bn.num_batches_tracked"]
    assert mixed.dtype == np.int64 and mixed == 6  # 6.5, rounded to even


def test_rho_above_zero_asks_for_the_proximal_term() -> None:
    sent = Package({"epochs": 2}, model(0))

    plain = fedasync.Client(settings()).work(sent)
    proximal = fedasync.Client(settings(rho=0.005)).work(sent)

    assert (plain.epochs, plain.rule) == (2, "")
    assert (proximal.rule, proximal.settings) == ("fedprox", {"mu": 0.005})


def test_an_institution_counts_every_client_once_between_two_models_from_above() -> None:
    edge = fedasync.Server(settings(), {})
    edge.receive(Package({}, model(0)))
    for child, samples in (("client1", 10), ("client2", 20), ("client1", 10)):
        edge.add(child, update(0, 1, samples=samples))
        edge.finish()

    assert edge.upward().meta["samples"] == 30

    edge.receive(Package({}, model(0)))
    assert edge.upward().meta["samples"] == 0


def test_an_update_without_a_sample_count_is_refused() -> None:
    server = fedasync.Server(settings(), model(0))

    with pytest.raises(Refused, match="no sample count"):
        server.add("client1", update(0, 1, samples=None))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.1}, "alpha"),
        ({"function": "linear"}, "function must be one of constant, polynomial, hinge"),
        ({"a": -1.0}, "a, b and rho"),
        ({"rho": -0.1}, "a, b and rho"),
        ({"concurrency": -1}, "concurrency"),
        ({"local_epochs": 0}, "local_epochs"),
        ({"edge_rounds": 0}, "edge_rounds"),
    ],
)
def test_impossible_settings_are_refused_by_name(given: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        settings(**given)


def test_the_registry_knows_that_it_has_no_rounds() -> None:
    assert registry.method("fedasync").streams and registry.method("fedbuff").streams
    assert not registry.method("fedavg").streams
