"""The seam by which a protocol changes the local step: subclass LocalRule, override what differs.

One object serves one training task. Plain SGD has no rule and pays nothing for the seam.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import numpy as np

from contracts.training import Task

if TYPE_CHECKING:
    from torch import Tensor, nn

PREFIX = "rule/"  # what a rule sends and receives beside the weights carries names like this


class LocalRule:
    """Does nothing in every hook."""

    def attached_to(self, module: nn.Module) -> AbstractContextManager[None]:
        """Around the whole training, for hooks on the module, which holds the received weights."""
        return nullcontext()

    def start(self, parameters: Sequence[tuple[str, nn.Parameter]], task: Task) -> None:
        """Before the first batch; the parameters hold the received weights, task.tensors them and
        the rule's own arrays."""

    def extra_loss(
        self, model: nn.Module, images: Tensor, outputs: Tensor, step: int
    ) -> Tensor | None:
        """A term to add to the batch's cross entropy, as FedRL's."""
        return None

    def adjust_gradients(
        self, named_parameters: Sequence[tuple[str, nn.Parameter]], step: int
    ) -> None:
        """Changes each parameter's .grad before weight decay and momentum, as SCAFFOLD does."""

    def finish(
        self, named_parameters: Sequence[tuple[str, nn.Parameter]], steps: int
    ) -> dict[str, np.ndarray]:
        """Arrays to send back beside the weights; their names get the prefix "rule/"."""
        return {}
