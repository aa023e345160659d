"""Computing on a node: the training is really done, and takes the time of the modelled device."""

import hashlib
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from contracts.events import Timing
from contracts.plan import NodeSpec, Plan
from contracts.spool import Spool
from contracts.training import Pending, Result, Task, Trainer
from learning.training.learning_rate import learning_rate_in
from learning.workers.pool import Pauses, SpoolTrainer, clockless_pauses, sleep_pauses
from nodes.devices import Device
from nodes.recorder import now
from protocols.base import Job, Work


def make_trainer(plan: Plan, run_dir: Path, spool: Spool, node: str) -> Trainer:
    """Make the trainer that the plan names: torch in this process, or the host's workers."""
    if plan.trainer == "inline":
        from learning.training.inline import InlineTrainer

        return InlineTrainer.load(run_dir)
    return SpoolTrainer(spool, make_pauses(plan, spool, node))


def make_pauses(plan: Plan, spool: Spool, who: str) -> Pauses:
    """Return how to wait for something outside: whether emulated time may pass meanwhile."""
    return sleep_pauses if plan.pause == "sleep" else clockless_pauses(spool.pause(who))


@dataclass
class RunningTraining:
    """A training under way, and how long the node's device takes for it."""

    pending: Pending
    device: Device
    start: float
    modelled: float | None  # None: it depends on who else computes there
    epochs: int
    limit: float

    def collect(self) -> tuple[Result, Timing]:
        """Wait until the device is done; return the result, and modelled and real time.

        A training that is collected later than that has not overrun.
        """
        due = self.device.finish()
        result = self.pending.result(self.limit)
        overrun = max(0.0, now() - due)
        modelled = due - self.start if self.modelled is None else self.modelled
        return result, {"modelled": modelled, "overrun": overrun, "epochs": self.epochs}


class Computer:
    """Trains for one node, and takes as much time as the node's device would."""

    def __init__(
        self, spec: NodeSpec, plan: Plan, trainer: Trainer, device: Device, life: int = 0
    ) -> None:
        self._spec, self._plan, self._trainer, self._device = spec, plan, trainer, device
        # The result of a job that a crashed process left behind must not be taken for that of the
        # new process: its jobs have other names.
        self._life = f"-life{life}" if life else ""

    def steps(self, work: Work) -> int:
        """Count the batches of the work, over the node's own samples and those it brings along."""
        samples = self._spec.samples + work.extra_samples
        whole = work.epochs * ceil(samples / self._plan.training.batch_size)
        return min(whole, work.steps) if work.steps else whole

    def train(self, job: Job, local_round: int) -> tuple[Result, Timing]:
        """Do a client's job from begin to end."""
        return self.begin(job, local_round, job.to[0]).collect()

    def begin(self, job: Job, local_round: int, label: str) -> RunningTraining:
        """Start a job; the label tells it from other jobs of the same local round."""
        start, work, fixed = now(), job.work, self._plan.training
        task = Task(
            job=f"{self._spec.name}-{local_round}-{label}{self._life}",
            client=self._spec.index,
            epochs=work.epochs,
            seed=training_seed(self._plan.seed, self._spec.index, local_round),
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
        self._device.begin(start, modelled)
        known = None if self._spec.shared_device else modelled
        limit = self._plan.limits.round
        return RunningTraining(pending, self._device, start, known, work.epochs, limit)


def training_seed(run: int, client: int, local_round: int) -> int:
    """Return what fixes the order of batches, and dropout, in one training of a client."""
    digest = hashlib.sha256(f"{run}/{client}/{local_round}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
