"""A server that draws clients, shares data and trains itself: over real sockets."""

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from contracts.plan import Plan
from contracts.training import Pending, Result, Task
from nodes.compute import Computer
from nodes.devices import OwnDevice
from nodes.parent import Parent
from nodes.rounds import RoundServer
from protocols import dsl, fedavg, fsl, fsl_p
from protocols.base import Facts, Package, Tensors
from protocols.wire import Message
from tests.support.lines import PATIENCE, aside, free_port, soon
from tests.support.scenario_trees import TENSORS, planned, star_scenario
from tests.support.stars import Listener, local_nodes, model

NAMES = tuple(f"client{number}" for number in range(1, 7))
STEP_SECONDS = 0.02


class Doubling:
    """A trainer at hand: every weight doubled, at once."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def submit(self, task: Task) -> Pending:
        self.tasks.append(task)
        doubled = {name: 2 * task.tensors[name] for name in TENSORS}
        return Done(Result(doubled, samples=20, steps=2, loss=0.0, host_seconds=0.0))

    def close(self) -> None: ...


@dataclasses.dataclass
class Done:
    answer: Result

    def result(self, deadline_seconds: float) -> Result:
        return self.answer


class Cloud:
    """A server with six clients' ends in this process, two of whom it draws for a round."""

    def __init__(self, kind: Any, **settings: Any) -> None:
        own = {"clients_per_round": 2, **settings}
        plan = planned(star_scenario(clients=6, limits={"join": "5s", "round": "5s"}))
        self.plan: Plan = dataclasses.replace(plan, nodes=local_nodes(plan), settings=own)
        self.trainer, self.listener, port = Doubling(), Listener(), free_port()
        spec = dataclasses.replace(
            self.plan.node("cloud"), samples=20, seconds_per_step=STEP_SECONDS
        )
        self.method = kind.Server(kind.Settings(rounds=1, **own), model(1))
        self.method.facts = Facts(
            clients=6, sampled=2, samples=60, server_samples=20, batch_size=10, learning_rate=0.01
        )
        computer = Computer(spec, self.plan, self.trainer, OwnDevice())
        recorder = self.listener.recorder
        self.server = RoundServer(spec, self.plan, self.method, recorder, port, computer=computer)
        self.parents = {
            name: Parent(self.plan.node(name), self.plan, Listener().recorder, port)
            for name in NAMES
        }
        joining = [aside(parent.join) for parent in self.parents.values()]
        self.server.admit()
        for future in joining:
            future.result(PATIENCE)

    def run(self, round: int, value: float = 3) -> list[str]:
        """One round in which whoever is drawn answers; who that was."""
        running = aside(lambda: self.server.run(round, round))
        drawn = self.drawn()
        for name in drawn:
            self.answer(name, value)
        running.result(PATIENCE)
        return drawn

    def drawn(self) -> list[str]:
        """Whom the round under way waits for, once it has sent them the model."""
        while not self.server._attendance._missing:
            time.sleep(0.002)
        return sorted(self.server._attendance._missing)

    def answer(self, name: str, value: float) -> Message:
        """As a client that takes the model and is done at once."""
        parent = self.parents[name]
        while (message := parent.receive(soon())) is None or message.kind != "model":
            assert message is not None
        samples = 10 + len(self.method.data.get("labels", ()))
        parent.send_update(message.local_round, Package({"samples": samples}, model(value)))
        return message

    def close(self) -> None:
        for endpoint in (self.server.endpoint, *(p.endpoint for p in self.parents.values())):
            if not endpoint._socket.closed:
                endpoint.close(abandon=True)


@pytest.fixture
def clouds() -> Iterator[list[Cloud]]:
    made: list[Cloud] = []
    yield made
    for cloud in made:
        cloud.close()


def build(clouds: list[Cloud], kind: Any, **settings: Any) -> Cloud:
    clouds.append(Cloud(kind, **settings))
    return clouds[-1]


def test_a_round_is_held_with_the_clients_that_were_drawn(clouds: list[Cloud]) -> None:
    cloud = build(clouds, fedavg)

    drawn = [cloud.run(round) for round in (1, 2, 3)]

    assert [len(names) for names in drawn] == [2, 2, 2]
    assert len({tuple(names) for names in drawn}) > 1, "not always the same"
    assert cloud.method.model["bias"].tolist() == [3] * 4
    assert cloud.method.samples == 20


def test_the_same_seed_draws_the_same_clients(clouds: list[Cloud]) -> None:
    one, other = build(clouds, fedavg), build(clouds, fedavg)

    assert one.run(5) == other.run(5)


def test_the_server_trains_what_it_combined_in_its_own_devices_time(clouds: list[Cloud]) -> None:
    cloud = build(clouds, fsl, eta_g=1.0, server_epochs=1)

    cloud.run(2)

    assert cloud.method.model["bias"].tolist() == [6] * 4, "the mean 3, doubled"
    (task,) = cloud.trainer.tasks
    assert task.client == -1, "the server's own samples"
    (compute,) = cloud.listener.events("compute")
    assert (compute["node"], compute["moment"]) == ("cloud", "after")
    assert compute["modelled"] == pytest.approx(2 * STEP_SECONDS)  # 20 samples in batches of 10
    assert compute["end"] - compute["start"] >= 2 * STEP_SECONDS


def test_before_the_first_round_it_may_train_what_it_will_send(clouds: list[Cloud]) -> None:
    cloud = build(clouds, fsl, gamma=0.0, eta_g=1.0, pretrain_epochs=3)

    round = aside(lambda: cloud.server.run(1, 1))
    messages = [cloud.answer(name, 0) for name in cloud.drawn()]
    round.result(PATIENCE)

    assert [message.tensors["bias"].tolist() for message in messages] == [[2] * 4] * 2
    assert [task.epochs for task in cloud.trainer.tasks] == [3]


def test_a_server_that_trains_beside_its_clients_starts_when_they_do(clouds: list[Cloud]) -> None:
    cloud = build(clouds, fsl_p, eta_g=1.0, server_epochs=1)

    cloud.run(2)

    assert cloud.method.model["bias"].tolist() == [2.5] * 4, "of the clients' 3 and its own 2"
    (event,) = cloud.listener.events("compute")
    assert event["moment"] == "beside"
    assert event["overrun"] < 0.1, "the clients' time is none of its own"


def test_what_slow_clients_take_is_no_overrun_of_a_server_that_trains_beside_them(
    clouds: list[Cloud],
) -> None:
    cloud = build(clouds, fsl_p, eta_g=1.0, server_epochs=1)

    round = aside(lambda: cloud.server.run(2, 2))
    drawn = cloud.drawn()
    time.sleep(0.4)
    for name in drawn:
        cloud.answer(name, 3)
    round.result(PATIENCE)

    (event,) = cloud.listener.events("compute")
    assert event["overrun"] < 0.2
    assert event["end"] - event["start"] < 0.3


def test_shared_data_go_to_everybody_once_and_ahead_of_the_model(clouds: list[Cloud]) -> None:
    cloud = build(clouds, dsl, gamma=0.0, eta_g=1.0)
    cloud.method.data = data()

    round = aside(lambda: cloud.server.run(1, 1))
    first = [parent.receive(soon()) for parent in cloud.parents.values()]
    for name in cloud.drawn():
        cloud.answer(name, 3)
    round.result(PATIENCE)
    cloud.run(2)
    cloud.server.stop()
    last = [parent.receive(soon()) for parent in cloud.parents.values()]

    assert [message and message.kind for message in first] == ["data"] * 6
    assert [message and message.kind for message in last] == ["stop"] * 6, "nothing came again"


def data() -> Tensors:
    return {"images": np.zeros((3, 1, 2, 2), np.uint8), "labels": np.zeros(3, np.int64)}
