"""Computing on a node: really done behind the training seam, taking the device's modelled time."""

import hashlib
import time
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from contracts.events import Timing
from contracts.plan import NodeSpec, Plan
from contracts.spool import Spool
from contracts.training import Pending, Result, Task, Trainer
from learning.training.learning_rate import learning_rate_in
from learning.workers.pool import Pauses, SpoolTrainer, clockless_pauses, sleep_pauses
from nodes.recorder import now
from protocols.base import Job, Work


def make_trainer(plan: Plan, run_dir: Path, spool: Spool, node: str) -> Trainer:
    """The plan's choice: torch in this process, or the host's workers."""
    if plan.trainer == "inline":
        from learning.training.inline import InlineTrainer

        return InlineTrainer.load(run_dir)
    return SpoolTrainer(spool, waits(plan, spool, node))


def waits(plan: Plan, spool: Spool, who: str) -> Pauses:
    """How to wait for something outside: the plan says whether time may pass meanwhile."""
    return sleep_pauses if plan.pause == "sleep" else clockless_pauses(spool.pause(who))


def sleep_until(moment: float) -> None:
    """Sleep the rest, if there is any."""
    left = moment - now()
    if left > 0:
        time.sleep(left)


@dataclass
class Running:
    """A training under way, and when the node's device would have finished it."""

    pending: Pending
    start: float
    modelled: float
    epochs: int
    limit: float

    def collect(self) -> tuple[Result, Timing]:
        """The result, and for the record how modelled and real time compare."""
        due = max(now(), self.start + self.modelled)  # it may have been left alone for longer
        sleep_until(due)
        result = self.pending.result(self.limit)
        overrun = max(0.0, now() - due)
        return result, {"modelled": self.modelled, "overrun": overrun, "epochs": self.epochs}


class Computer:
    """Trains for one node and takes the time its device would."""

    def __init__(self, spec: NodeSpec, plan: Plan, trainer: Trainer, life: int = 0) -> None:
        self._spec, self._plan, self._trainer = spec, plan, trainer
        # A job that a crashed process left behind must not be taken for the new one's.
        self._life = f"-life{life}" if life else ""

    def steps(self, work: Work) -> int:
        """Batches in its passes over the node's own samples and those the work brings along."""
        samples = self._spec.samples + work.extra_samples
        whole = work.epochs * ceil(samples / self._plan.training.batch_size)
        return min(whole, work.steps) if work.steps else whole

    def train(self, job: Job, local_round: int) -> tuple[Result, Timing]:
        """A client's job, from begin to end."""
        return self.begin(job, local_round, job.to[0]).collect()

    def begin(self, job: Job, local_round: int, label: str) -> Running:
        """Have it done in this local round; the label tells it from others of the same round."""
        start, work, fixed = now(), job.work, self._plan.training
        task = Task(
            job=f"{self._spec.name}-{local_round}-{label}{self._life}",
            client=self._spec.index,
            epochs=work.epochs,
            seed=_seed(self._plan.seed, self._spec.index, local_round),
            rule=work.rule,
            settings=work.settings,
            tensors=job.model | work.tensors,
            learning_rate=learning_rate_in(fixed, local_round) * work.rate_factor,
            steps=work.steps,
            batch_size=fixed.batch_size,
            momentum=fixed.momentum,
            weight_decay=fixed.weight_decay,
            shuffle=fixed.shuffle,
        )
        pending = self._trainer.submit(task)
        steps = self.steps(work)
        modelled = steps * self._spec.seconds_per_step
        if work.rule:
            modelled += self._spec.rule_seconds(steps)
        return Running(pending, start, modelled, work.epochs, self._plan.limits.round)


def _seed(run: int, client: int, local_round: int) -> int:
    digest = hashlib.sha256(f"{run}/{client}/{local_round}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
