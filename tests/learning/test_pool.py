"""Training by worker processes on the host gives what training in the node's process gives."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from contracts.project import ROOT
from contracts.spool import Spool
from contracts.training import Result, Task, TrainingFailed
from learning.models import registry as models
from learning.training.inline import InlineTrainer
from learning.workers.pool import Pauses, SpoolTrainer, clockless_pauses, sleep_pauses
from learning.workers.supervisor import PoolBroken, WorkerPool
from learning.workers.task_files import write_task
from protocols.wire import Message, write_file
from tests.support.waiting import wait_until

WAIT_SECONDS = 60
CLIENTS = 4


def task(job: str, client: int = 0, epochs: int = 1) -> Task:
    weights = models.export_weights(models.build("tiny-mlp", (1, 28, 28), 10, seed=1))
    return Task(job, client, epochs, 10, 0.05, 0.9, 1e-4, True, 7, "", {}, weights)


wait_for = partial(wait_until, seconds=WAIT_SECONDS, every=0.002)


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def same(left: Result, right: Result) -> None:
    assert (left.samples, left.steps, left.loss) == (right.samples, right.steps, right.loss)
    assert list(left.tensors) == list(right.tensors)
    for name, array in left.tensors.items():
        assert array.tobytes() == right.tensors[name].tobytes()


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's directory with what its workers need."""
    directory = tmp_path_factory.mktemp("run")
    settings = {"dataset": "tiny", "data_dir": None, "model": "tiny-mlp", "seed": 1}
    settings["partition"] = "partition.npz"
    (directory / "learning.json").write_text(json.dumps(settings))
    indices = np.arange(CLIENTS * 100, dtype=np.int64).reshape(CLIENTS, 100)
    np.savez(
        directory / "partition.npz",
        **{f"client{i}": mine for i, mine in enumerate(indices, 1)},  # type: ignore[arg-type]
    )
    write_file(directory / "initial.model", Message("initial", "none", 0, {}, task("none").tensors))
    return directory


@pytest.fixture(scope="module")
def pool(run_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    """Two workers that all tests share: starting one takes seconds."""
    shared = WorkerPool(run_dir, Spool(tmp_path_factory.mktemp("spool")), 2)
    shared.start()
    yield shared
    pids = shared.pids()
    shared.stop()
    assert all(gone(pid) for pid in pids)


@pytest.fixture
def spool(pool: WorkerPool) -> Iterator[Spool]:
    """The shared pool's spool, which every test leaves without jobs and results."""
    yield pool.spool
    wait_for(lambda: not any(pool.spool.jobs.iterdir()))
    assert list(pool.spool.results.iterdir()) == []


@pytest.fixture
def trainer(spool: Spool) -> SpoolTrainer:
    return SpoolTrainer(spool, sleep_pauses)


def claimer(spool: Spool, job: str) -> int | None:
    """The index of the worker that has this job."""
    return next((index for index in (0, 1) if spool.claimed(job, index).exists()), None)


def kill_whoever_has(job: str, pool: WorkerPool) -> None:
    wait_for(lambda: claimer(pool.spool, job) is not None, meanwhile=pool.check)
    index = claimer(pool.spool, job)
    assert index is not None
    pid = pool.pids()[index]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: gone(pid))


@pytest.fixture(params=["sleep", "fsync"])
def waits(request: pytest.FixtureRequest, spool: Spool) -> Pauses:
    return sleep_pauses if request.param == "sleep" else clockless_pauses(spool.pause("test"))


def test_results_are_those_of_inline_training_bit_for_bit(
    pool: WorkerPool, spool: Spool, run_dir: Path, waits: Pauses
) -> None:
    tasks = [task(f"client{client}-r0", client, epochs=2) for client in range(CLIENTS)]
    before = pool.busy_seconds()
    pooled, inline = SpoolTrainer(spool, waits), InlineTrainer.load(run_dir)

    waiting = [(pooled.submit(each), inline.submit(each)) for each in tasks]
    results = [(p.result(WAIT_SECONDS), i.result(WAIT_SECONDS)) for p, i in waiting]
    inline.close()

    for by_pool, by_inline in results:
        same(by_pool, by_inline)
    assert not np.array_equal(results[0][0].tensors["1.weight"], tasks[0].tensors["1.weight"])
    spent = sum(by_pool.host_seconds for by_pool, _ in results)
    assert pool.busy_seconds() - before == pytest.approx(spent, abs=1e-5)


def test_a_result_can_be_asked_for_again(trainer: SpoolTrainer) -> None:
    pending = trainer.submit(task("again"))

    assert pending.result(WAIT_SECONDS) is pending.result(0)


def test_a_job_that_fails_says_why_and_the_worker_goes_on(
    pool: WorkerPool, trainer: SpoolTrainer
) -> None:
    pids = pool.pids()

    with pytest.raises(TrainingFailed, match=r"^job bad failed: IndexError: .*\.py:\d+\)$"):
        trainer.submit(task("bad", client=99)).result(WAIT_SECONDS)
    trainer.submit(task("good")).result(WAIT_SECONDS)

    pool.check()
    assert pool.pids() == pids


@pytest.mark.parametrize("kind", ["pool", "inline"])
def test_training_that_diverges_fails_with_a_hint(
    kind: str, trainer: SpoolTrainer, run_dir: Path
) -> None:
    wild = replace(task(f"wild-{kind}", epochs=5), learning_rate=1e30)
    chosen = trainer if kind == "pool" else InlineTrainer.load(run_dir)

    with pytest.raises(TrainingFailed, match=r"diverged.*smaller learning rate"):
        chosen.submit(wild).result(WAIT_SECONDS)
    chosen.close()


def test_an_unreadable_task_is_answered(spool: Spool) -> None:
    (spool.jobs / "noise.task").write_bytes(b"noise")

    wait_for(spool.error("noise").exists)

    assert "unreadable" in spool.error("noise").read_text()
    spool.error("noise").unlink()


def test_a_job_whose_worker_is_killed_is_tried_again(
    pool: WorkerPool, trainer: SpoolTrainer, run_dir: Path
) -> None:
    long = task("unlucky", epochs=200)
    pids = pool.pids()
    pending = trainer.submit(long)

    kill_whoever_has("unlucky", pool)
    pool.check()
    result = pending.result(WAIT_SECONDS)

    inline = InlineTrainer.load(run_dir)
    same(result, inline.submit(long).result(WAIT_SECONDS))
    inline.close()
    assert len(set(pids) & set(pool.pids())) == 1  # the other worker lives, this one is replaced


def test_a_job_whose_workers_are_killed_twice_ends_with_the_reason(
    pool: WorkerPool, trainer: SpoolTrainer
) -> None:
    pending = trainer.submit(task("doomed", epochs=1_000_000))

    kill_whoever_has("doomed", pool)
    pool.check()
    kill_whoever_has("doomed", pool)
    pool.check()

    with pytest.raises(TrainingFailed, match=r"job doomed failed: .*died twice.*signal 9.*log"):
        pending.result(WAIT_SECONDS)


def test_workers_that_do_not_start_break_the_pool(run_dir: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no torch here >&2\nexit 3\n")
    python.chmod(0o755)
    broken = WorkerPool(run_dir, Spool(tmp_path / "spool"), 1, str(python))

    broken.start()
    with pytest.raises(PoolBroken, match=r"worker 0 does not start.*code 3.*no torch here"):
        wait_for(lambda: False, meanwhile=broken.check)
    broken.stop()


def test_workers_end_with_their_parent(run_dir: Path, tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from contracts.spool import Spool
from learning.workers.supervisor import WorkerPool
pool = WorkerPool(Path({str(run_dir)!r}), Spool(Path({str(tmp_path)!r})), 1)
pool.start()
print(*pool.pids(), flush=True)
input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        write_task(Spool(tmp_path).task("endless"), task("endless", epochs=1_000_000))
        wait_for(Spool(tmp_path).claimed("endless", 0).exists)
        parent.kill()

    wait_for(lambda: gone(pid))


def test_a_deadline_passes_with_a_clear_sentence_and_the_job_is_withdrawn(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.create()
    trainer = SpoolTrainer(Spool(tmp_path), sleep_pauses)

    with pytest.raises(TimeoutError, match=r"job late had no result after 0\.02 s"):
        trainer.submit(task("late")).result(0.02)

    assert list(spool.jobs.iterdir()) == []


def test_closing_withdraws_what_nobody_began(tmp_path: Path) -> None:
    Spool(tmp_path).create()
    trainer = SpoolTrainer(Spool(tmp_path), sleep_pauses)
    trainer.submit(task("left"))

    trainer.close()

    assert list(Spool(tmp_path).jobs.iterdir()) == []


def test_a_spool_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed, match="job lost could not be handed over"):
        SpoolTrainer(Spool(tmp_path / "absent"), sleep_pauses).submit(task("lost"))


@pytest.mark.parametrize("job", ["", "../up", "a/b", ".hidden", "new\nline", "x" * 200])
def test_a_job_name_that_is_no_file_name_is_refused(job: str) -> None:
    with pytest.raises(ValueError, match="not safe"):
        task(job)


def test_the_oldest_file_comes_first_and_unfinished_ones_not_at_all(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.create()
    for name, age in (("b.task", 5), ("c.task", 9), ("a.task", 5), (".d.task", 99)):
        (spool.jobs / name).touch()
        os.utime(spool.jobs / name, (1000 - age, 1000 - age))

    assert spool.waiting_jobs() == ["c", "a", "b"]


def test_a_node_that_uses_the_pool_imports_no_torch() -> None:
    program = "import sys, learning.workers.pool; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


def test_the_evaluator_writes_one_line_per_model_and_ends_when_told(
    run_dir: Path, tmp_path: Path
) -> None:
    spool = Spool(tmp_path)
    spool.create()
    weights = task("any").tensors
    for number in (1, 2):
        message = Message("model", "cloud", number, {"round": number, "key": "global"}, weights)
        write_file(spool.model_to_evaluate(f"global-{number}"), message)
    spool.model_to_evaluate("noise").write_bytes(b"noise")
    spool.stop_evaluator.touch()
    command = [sys.executable, "-m", "learning.evaluation.evaluator", "--run", str(run_dir)]
    command += ["--spool", str(tmp_path)]

    subprocess.run(command, cwd=ROOT, check=True, timeout=WAIT_SECONDS)

    text = (run_dir / "evaluations.jsonl").read_text()
    first, second, noise = [json.loads(line) for line in text.splitlines()]
    assert (first["round"], first["key"], second["round"]) == (1, "global", 2)
    assert 0 <= first["accuracy"] <= 1
    assert first["loss"] == second["loss"] > 0
    assert (noise["key"], noise["accuracy"]) == ("noise", None)
    assert "truncated" in noise["error"]
    assert [path.name for path in spool.evaluate.iterdir()] == ["stop"]
