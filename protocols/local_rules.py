"""The hooks by which a method changes the local training step.

Subclass LocalRule and override what differs. One object serves one training task. Plain SGD has no
rule and is not slowed down by these hooks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import numpy as np

from contracts.training import Task

if TYPE_CHECKING:
    from torch import Tensor, nn

PREFIX = "rule/"  # of the names of tensors that a rule sends and receives beside the weights


class LocalRule:
    """The base class of all rules; every hook does nothing."""

    def attached_to(self, module: nn.Module) -> AbstractContextManager[None]:
        """Return a context held for the whole training, for rules that put hooks on the module.

        When it is entered, the module holds the received weights.
        """
        return nullcontext()

    def start(self, parameters: Sequence[tuple[str, nn.Parameter]], task: Task) -> None:
        """Prepare for the first batch.

        The parameters hold the received weights; task.tensors has these and the rule's own arrays.
        """

    def extra_loss(
        self, model: nn.Module, images: Tensor, outputs: Tensor, step: int
    ) -> Tensor | None:
        """Return a term to add to the batch's cross entropy, as FedRL does, or None."""
        return None

    def adjust_gradients(
        self, named_parameters: Sequence[tuple[str, nn.Parameter]], step: int
    ) -> None:
        """Change each parameter's .grad before weight decay and momentum, as SCAFFOLD does."""

    def finish(
        self, named_parameters: Sequence[tuple[str, nn.Parameter]], steps: int
    ) -> dict[str, np.ndarray]:
        """Return arrays to send back beside the weights; their names get the prefix "rule/"."""
        return {}
