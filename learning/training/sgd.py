"""Local training: SGD with momentum and weight decay over one client's samples."""

import time
from collections.abc import Iterable
from contextlib import nullcontext
from math import ceil
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from contracts.training import Result, Task
from learning.models.registry import export_weights, load_weights
from learning.training import extra_samples, lenet_in_c
from learning.training.context import TrainingContext
from protocols import registry
from protocols.local_rules import PREFIX, LocalRule

Tensors = dict[str, np.ndarray]


def train(task: Task, context: TrainingContext, rule: LocalRule | None = None) -> Result:
    """Train from the task's weights; the same task gives the same bits in any process.

    The result's loss is the mean cross entropy over the last epoch's samples during training. A
    task without a rule is plain SGD, which LeNet-5 does in C where possible.
    """
    began = time.perf_counter()
    if rule is None and task.rule:
        rule = registry.method(task.rule).make_local_rule(task.settings)
    module = context.module
    load_weights(module, task.tensors)
    module.train()
    images, labels = extra_samples.own_and_extra(task, context)
    torch.manual_seed(task.seed)  # for dropout
    order = _order(len(labels), task)
    steps = sum(ceil(len(epoch) / task.batch_size) for epoch in order)
    extras: Tensors = {}
    alike = len({len(epoch) for epoch in order}) == 1  # the C code needs epochs of equal length
    if rule is None and context.trains_in_c and alike:
        loss = lenet_in_c.train(module, images, labels, torch.stack(order), task)
    else:
        with rule.attached_to(module) if rule else nullcontext():
            loss, extras = train_with_torch(module, images, labels, order, task, rule)
    return Result(
        tensors=export_weights(module) | {PREFIX + name: array for name, array in extras.items()},
        samples=len(labels),
        steps=steps,
        loss=loss,
        host_seconds=time.perf_counter() - began,
    )


def train_with_torch(
    module: nn.Module,
    images: Tensor,
    labels: Tensor,
    order: Iterable[Tensor],
    task: Task,
    rule: LocalRule | None,
) -> tuple[float, Tensors]:
    """Train any model in place; return the last epoch's mean loss and the rule's own tensors."""
    named = list(module.named_parameters())
    parameters: list[Tensor] = [parameter for _, parameter in named]
    velocities = [torch.zeros_like(p) for p in parameters] if task.momentum else []
    if rule:
        rule.start(named, task)
    steps = 0
    losses: list[Tensor] = []
    seen = 0
    for epoch in order:
        losses, seen = [], len(epoch)
        for batch in epoch.to(labels.device).split(task.batch_size):
            batch_images = images.index_select(0, batch)
            outputs = module(batch_images)
            loss = F.cross_entropy(outputs, labels.index_select(0, batch))
            losses.append(loss.detach())
            if rule:
                extra = rule.extra_loss(module, batch_images, outputs, steps)
                loss = loss if extra is None else loss + extra
            for parameter in parameters:
                parameter.grad = None
            loss.backward()
            if rule:
                rule.adjust_gradients(named, steps)
            _descend(parameters, velocities, task)
            steps += 1
    return _mean(losses, task.batch_size, seen), rule.finish(named, steps) if rule else {}


def _order(count: int, task: Task) -> list[Tensor]:
    """Return the order of samples in each epoch, cut short if the task limits the steps."""
    draws = torch.Generator().manual_seed(task.seed)
    each = ceil(count / task.batch_size)
    steps = min(task.steps or task.epochs * each, task.epochs * each)
    epochs = [
        torch.randperm(count, generator=draws) if task.shuffle else torch.arange(count)
        for _ in range(ceil(steps / each))
    ]
    last = steps - each * (len(epochs) - 1)
    return [*epochs[:-1], epochs[-1][: last * task.batch_size]]


@torch.no_grad()
def _descend(parameters: list[Tensor], velocities: list[Tensor], task: Task) -> None:
    """Do one step of torch.optim.SGD by calling its kernel: a tenth of the time for LeNet-5."""
    torch._fused_sgd_(
        parameters,
        cast(list[Tensor], [parameter.grad for parameter in parameters]),
        velocities,
        weight_decay=task.weight_decay,
        momentum=task.momentum,
        lr=task.learning_rate,
        dampening=0.0,
        nesterov=False,
        maximize=False,
        is_first_step=False,  # velocities start at zero, so the first step is like the others
    )


def _mean(losses: list[Tensor], batch_size: int, count: int) -> float:
    """Return the mean loss over samples; the last batch may hold fewer than the others."""
    sizes = torch.full((len(losses),), batch_size, dtype=torch.float64)
    sizes[-1] = count - batch_size * (len(losses) - 1)
    return float(torch.stack(losses).double().cpu() @ sizes) / count
