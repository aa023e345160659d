"""Computing on a node: the device's modelled time, whatever the host needs."""

import dataclasses
import time
from pathlib import Path

import numpy as np
import pytest

from contracts.spool import Spool
from contracts.training import Pending, Result, Task
from learning.workers.pool import SpoolTrainer
from nodes import compute, devices
from nodes.compute import Computer, make_trainer
from nodes.devices import OwnDevice, sleep_until
from protocols.base import Job, Work
from tests.support.scenario_trees import planned, star_scenario

MODEL = {"w": np.zeros(3, np.float32)}


class Clock:
    """A clock that only sleeping moves, so that no other process on this machine can move it."""

    def __init__(self) -> None:
        self.moment = 100.0

    def now(self) -> float:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (compute, devices):
        monkeypatch.setattr(module, "now", made.now)
    monkeypatch.setattr(devices, "time", made)
    return made


class Host:
    """A trainer that needs that many seconds."""

    def __init__(self, seconds: float = 0.0, clock: Clock | None = None) -> None:
        self.seconds, self._now = seconds, clock.now if clock else time.monotonic
        self.tasks: list[Task] = []
        self.deadlines: list[float] = []

    def submit(self, task: Task) -> Pending:
        self.tasks.append(task)
        self._ready = self._now() + self.seconds
        return self

    def result(self, deadline_seconds: float) -> Result:
        self.deadlines.append(deadline_seconds)
        sleep_until(self._ready)
        return Result(MODEL, samples=10, steps=1, loss=0.5, host_seconds=self.seconds)

    def close(self) -> None:
        pass


def computer(
    host: Host, seconds_per_step: float, seed: int = 1, extra_seconds: tuple[float, ...] = ()
) -> Computer:
    plan = planned(star_scenario(limits={"round": "7s"}, seed=seed))
    spec = dataclasses.replace(
        plan.node("client2"),
        seconds_per_step=seconds_per_step,
        samples=25,
        extra_seconds=extra_seconds,
    )
    return Computer(spec, plan, host, OwnDevice())


def job(work: Work) -> Job:
    return Job(("cloud",), MODEL, work)


def test_steps_are_the_batches_of_all_epochs_the_last_one_of_each_partly_filled() -> None:
    # 25 samples in batches of 10 are 3 steps
    assert computer(Host(), 0.1).steps(Work(epochs=4)) == 12


def test_steps_end_where_the_work_says_and_count_samples_it_brings_along() -> None:
    shared = {"samples/labels": np.zeros(10, np.int64)}

    assert computer(Host(), 0.1).steps(Work(epochs=4, steps=5)) == 5
    assert computer(Host(), 0.1).steps(Work(epochs=1, steps=5)) == 3, "there are no more"
    assert computer(Host(), 0.1).steps(Work(epochs=2, tensors=shared)) == 8, "35 are 4 batches"


def test_sleeping_until_a_moment_really_takes_that_long() -> None:
    moment = time.monotonic() + 0.1

    sleep_until(moment)

    assert time.monotonic() >= moment


def test_a_node_that_finishes_early_sleeps_the_rest(clock: Clock) -> None:
    before = clock.moment

    _, timing = computer(Host(0.0, clock), 0.05).train(job(Work(epochs=2)), 1)

    assert timing["modelled"] == pytest.approx(0.3)
    assert clock.moment - before == pytest.approx(0.3)
    assert timing["overrun"] == 0


def test_only_a_job_with_a_rule_takes_the_rules_time() -> None:
    client = computer(Host(), 0.001, extra_seconds=(0.001, 0.01))

    _, plain = client.train(job(Work(epochs=1)), 1)
    _, ruled = client.train(job(Work(epochs=1, rule="fedprox")), 2)

    assert plain["modelled"] == 3 * 0.001
    assert ruled["modelled"] == 3 * 0.001 + 0.012  # the rule's three steps: 1, 10 and 1 ms


def test_a_node_that_finishes_late_says_by_how_much(clock: Clock) -> None:
    _, timing = computer(Host(0.3, clock), 0.01).train(job(Work(epochs=1)), 1)

    assert timing["modelled"] == pytest.approx(0.03)
    assert timing["overrun"] == pytest.approx(0.27)


def test_training_goes_on_while_the_node_sleeps(clock: Clock) -> None:
    before = clock.moment

    computer(Host(0.2, clock), 0.1).train(job(Work(epochs=1)), 1)

    assert clock.moment - before == pytest.approx(0.3)


def test_the_task_has_all_the_plan_and_the_method_say() -> None:
    host = Host()
    extras = {"rule/anchor": np.ones(3, np.float32)}

    computer(host, 0.0).train(job(Work(2, "fedprox", {"mu": 0.1}, extras)), 5)

    [task] = host.tasks
    assert (task.job, task.client, task.epochs) == ("client2-5-cloud", 1, 2)
    assert (task.rule, task.settings) == ("fedprox", {"mu": 0.1})
    assert set(task.tensors) == {"w", "rule/anchor"}
    assert (task.batch_size, task.learning_rate) == (10, 0.01)
    assert host.deadlines == [7.0]


def test_the_learning_rate_follows_its_schedule() -> None:
    host = Host()
    task = star_scenario()["task"] | {"learning_rate": 0.001, "learning_rate_decay": 0.995}
    plan = planned(star_scenario(task=task))

    Computer(plan.node("client1"), plan, host, OwnDevice()).train(job(Work(1)), local_round=3)

    assert host.tasks[0].learning_rate == pytest.approx(0.001 * 0.995**2)


def test_seeds_repeat_with_the_runs_seed_and_differ_between_rounds() -> None:
    hosts = [Host(), Host(), Host()]

    for host, seed in zip(hosts, (1, 1, 2), strict=True):
        for local_round in (1, 2):
            computer(host, 0.0, seed).train(job(Work(1)), local_round)

    seeds = [[task.seed for task in host.tasks] for host in hosts]
    assert seeds[0] == seeds[1]
    assert len({*seeds[0], *seeds[2]}) == 4


def test_the_pools_trainer_needs_no_torch(tmp_path: Path) -> None:
    plan = planned(star_scenario())

    assert isinstance(make_trainer(plan, tmp_path, Spool(tmp_path), "client1"), SpoolTrainer)
