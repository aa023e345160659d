"""Run one training task to its result, or to a sentence that says why there is none."""

import math
import traceback

import numpy as np

from contracts.training import Result, Task, TrainingFailed
from learning.training.context import TrainingContext
from learning.training.sgd import train


def run_task(task: Task, context: TrainingContext) -> Result:
    """Train; whatever goes wrong is raised as TrainingFailed with one sentence.

    Called by the workers of the pool and by the inline trainer alike.
    """
    try:
        result = train(task, context)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
        raise TrainingFailed(
            f"job {task.job} failed: {reason} ({where.filename}:{where.lineno})"
        ) from error
    # The wire format would refuse such weights later, with a less helpful message.
    finite = all(np.isfinite(array).all() for array in result.tensors.values())
    if not finite or not math.isfinite(result.loss):
        raise TrainingFailed(
            f"job {task.job} diverged: after {result.steps} steps its weights or loss are not "
            f"finite; a smaller learning rate than {task.learning_rate:g} may help"
        )
    return result
