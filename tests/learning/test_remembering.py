"""Names of trainings by their content, and workers that remember what was trained before."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.spool import Spool
from contracts.trained import Counts
from contracts.training import SERVER, Task
from learning.data import datasets
from learning.models import registry as models
from learning.remembering import engine
from learning.remembering.memory import Memory
from learning.remembering.names import Names
from learning.remembering.store import Store
from learning.training.context import TrainingContext
from learning.training.run_data import RunData
from learning.training.sgd import train
from learning.workers.task_files import read_result, write_task
from learning.workers.worker import Worker
from protocols.wire import Message
from tests.support.other_worker import working_on

TINY = datasets.load("tiny", None)
PARTS = [np.arange(20), np.arange(20, 40), np.arange(20)]
DATA = RunData(TINY, PARTS, (TINY.train_inputs[:5], TINY.train_labels[:5]))


def task(job: str = "client1-1-inst1", **changes: Any) -> Task:
    weights = models.export_weights(models.build("tiny-mlp", (1, 28, 28), 10, seed=1))
    found = Task(job, 0, 1, 10, 0.05, 0.9, 1e-4, True, 7, "", {}, weights)
    return replace(found, **changes)


def with_other_weight(found: Task) -> dict[str, np.ndarray]:
    weights = {key: array.copy() for key, array in found.tensors.items()}
    weights["1.bias"][3] = np.nextafter(weights["1.bias"][3], np.float32(9))
    return weights


def test_a_training_is_named_by_its_content_and_not_by_its_place() -> None:
    names = Names(DATA, "tiny-mlp")

    assert names.of_training(task()) == names.of_training(task(job="client3-9-inst2", client=2))
    assert names.of_training(task()) == Names(DATA, "tiny-mlp").of_training(task())


@pytest.mark.parametrize(
    "change",
    [
        {"client": 1},
        {"client": SERVER},
        {"epochs": 2},
        {"batch_size": 9},
        {"learning_rate": float(np.nextafter(0.05, 1))},
        {"momentum": 0.0},
        {"weight_decay": 0.0},
        {"shuffle": False},
        {"seed": 8},
        {"steps": 1},
        {"rule": "fedprox"},
        {"settings": {"mu": 0.1}},
        {"tensors": with_other_weight(task())},
        {"tensors": dict(reversed(task().tensors.items()))},
        {"tensors": task().tensors | {"rule/c": np.zeros(1, np.float32)}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_can_change_a_result_changes_its_name(change: dict[str, Any]) -> None:
    names = Names(DATA, "tiny-mlp")

    assert names.of_training(task()) != names.of_training(replace(task(), **change))


def test_the_model_its_classes_and_the_pixels_scale_are_part_of_the_name() -> None:
    found = Names(DATA, "tiny-mlp").of_training(task())

    scaled = RunData(replace(TINY, std=(0.31,)), PARTS)
    fewer = RunData(replace(TINY, classes=9), PARTS)
    others = [Names(DATA, "lenet5"), Names(scaled, "tiny-mlp"), Names(fewer, "tiny-mlp")]
    assert found not in {names.of_training(task()) for names in others}


def test_trainings_evaluations_and_dissimilarities_never_share_a_name() -> None:
    names, weights = Names(DATA, "tiny-mlp"), task().tensors

    kinds = (names.of_evaluation, names.of_dissimilarity, names.of_beginning)
    found = {names.of_training(task()), *(kind(weights) for kind in kinds)}

    assert len(found) == 4


def test_a_run_without_server_samples_has_another_dissimilarity() -> None:
    weights = task().tensors
    alone = Names(RunData(TINY, PARTS), "tiny-mlp").of_dissimilarity(weights)

    assert alone != Names(DATA, "tiny-mlp").of_dissimilarity(weights)


def test_another_kind_of_processor_has_names_of_its_own(tmp_path: Path) -> None:
    arm = "processor\t: 0\nFeatures\t: fp\nCPU part\t: 0xd0c\n"
    files = [tmp_path / "one", tmp_path / "other"]
    files[0].write_text(arm)
    files[1].write_text(arm.replace("d0c", "d40"))
    assert engine.processor(files[0]) != engine.processor(files[1])

    described = "processor\t: 0\nmodel name\t: One\ncpu MHz\t: 2000\nflags\t: sse avx\n\n"
    texts = [described, described.replace("2000", "1900"), described.replace("avx", "avx2")]
    files = [tmp_path / str(number) for number in range(3)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)

    one, slower, another = map(engine.processor, files)

    assert one == slower != another


def test_the_code_that_trains_is_part_of_the_name(tmp_path: Path) -> None:
    (tmp_path / "sgd.py").write_text("step")
    before = engine.digest_of(tmp_path)
    (tmp_path / "notes.txt").write_text("no code")
    assert engine.digest_of(tmp_path) == before

    (tmp_path / "sgd.py").write_text("stop")

    assert engine.digest_of(tmp_path) != before


class Bench:
    """A spool with a worker whose trainings are counted."""

    def __init__(self, folder: Path, store: Path, waits: bool = True) -> None:
        self.store = store
        self.spool, self.trained, self.troubles = Spool(folder), 0, list[str]()
        self.spool.create()
        self.memory = Memory(Store(store), Names(DATA, "tiny-mlp"), waits, self.troubles.append)
        self.worker = Worker(self.spool, 0, self._context, self.memory)

    def _context(self) -> TrainingContext:
        self.trained += 1
        return TrainingContext(TINY, PARTS, models.build("tiny-mlp", (1, 28, 28), 10, seed=0))

    def hand_over(self, *tasks: Task) -> None:
        for number, each in enumerate(tasks):
            write_task(self.spool.task(each.job), each)
            os.utime(self.spool.task(each.job), (number, number))

    def counts(self) -> Counts:
        return Counts.of(self.spool.stats(0).read_text().splitlines())


Make = Callable[..., Bench]


@pytest.fixture
def bench(tmp_path: Path) -> Make:
    def make(name: str = "first", **options: Any) -> Bench:
        return Bench(tmp_path / name, tmp_path / "store", **options)

    return make


@pytest.mark.parametrize("waits", [True, False])
def test_a_training_done_before_is_remembered_bit_for_bit(bench: Make, waits: bool) -> None:
    first, second = bench(), bench("second", waits=waits)
    first.hand_over(task())
    assert first.worker.step()

    second.hand_over(task("client3-1-inst2", client=2))
    assert second.worker.step()

    expected = train(task(), first._context())
    found = read_result(second.spool.result("client3-1-inst2"))
    assert {key: array.tobytes() for key, array in found.tensors.items()} == {
        key: array.tobytes() for key, array in expected.tensors.items()
    }
    assert (found.samples, found.steps, found.loss) == (20, 2, expected.loss)
    assert second.trained == 0 and second.counts() == Counts(done=0, remembered=1)
    assert not list(second.spool.jobs.iterdir())


def test_what_another_run_is_training_is_left_to_it_as_long_as_it_does(bench: Make) -> None:
    here, mine, other = bench(), task("a"), task("b", seed=9)
    here.hand_over(mine, other)

    with working_on(here.store, Names(DATA, "tiny-mlp").of_training(mine)):
        assert here.worker.step()  # the second job: the first is being trained elsewhere
        assert here.spool.result("b").exists() and not here.spool.result("a").exists()
        assert not here.worker.step()
    assert here.worker.step()

    assert here.spool.result("a").exists()
    assert here.counts() == Counts(done=2)  # the other one ended without a result


def test_on_the_wall_clock_nobody_waits_for_another_run(bench: Make) -> None:
    here = bench(waits=False)
    here.hand_over(task())

    with working_on(here.store, Names(DATA, "tiny-mlp").of_training(task())):
        assert here.worker.step() and here.counts() == Counts(done=1)


def test_trouble_with_the_store_is_said_once_and_training_goes_on(bench: Make) -> None:
    here = bench()
    entries = here.store / "entries"
    entries.rmdir()
    entries.write_text("in the way")
    here.hand_over(task("a"), task("b", seed=3))

    assert here.worker.step() and here.worker.step()

    assert here.counts() == Counts(done=2)
    assert len(here.troubles) == 1 and "cannot be remembered" in here.troubles[0]


def test_an_entry_that_says_something_else_is_not_taken(bench: Make) -> None:
    here = bench()
    name = Names(DATA, "tiny-mlp").of_training(task())
    here.memory.write(name, Message("result", "metronome", 0, {"loss": 1.0}))
    here.hand_over(task())

    assert here.worker.step() and here.counts() == Counts(done=1)


def test_results_of_code_that_was_changed_meanwhile_are_not_kept(
    bench: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = bench()
    monkeypatch.setattr("learning.remembering.memory.unchanged", lambda: False)
    here.hand_over(task())

    assert here.worker.step() and here.counts() == Counts(done=1)

    assert not list(Store(here.store).scan())
    assert "changed during the run" in here.troubles[0]


def test_changed_sources_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("learning/models", "learning/training", "learning/evaluation", "protocols"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "code.py").write_text("step")
    monkeypatch.setattr(engine, "ROOT", tmp_path)
    engine._stamps.cache_clear()
    try:
        assert engine.unchanged()
        (tmp_path / "protocols" / "code.py").write_text("another step")
        assert not engine.unchanged()
    finally:
        engine._stamps.cache_clear()


def test_a_task_that_cannot_be_named_fails_with_a_sentence(bench: Make) -> None:
    here = bench()
    here.hand_over(task(client=99))

    assert here.worker.step()

    assert "job client1-1-inst1 failed" in here.spool.error("client1-1-inst1").read_text()


def test_on_the_wall_clock_nothing_is_stored_while_a_job_waits(bench: Make) -> None:
    here = bench(waits=False)
    here.hand_over(task("a"), task("b", seed=3))

    here.worker.step()
    assert not list(Store(here.store).scan())
    here.worker.step()

    assert len(list(Store(here.store).scan())) == 1
