"""A first forward pass, by which a model shows that it takes the samples and knows the classes."""

from torch import Tensor, nn

from contracts.errors import BadInput
from learning.models.registry import MODELS


def try_out(name: str, module: nn.Module, inputs: Tensor, classes: int) -> Tensor:
    """Return the model's outputs for these inputs; BadInput if they are not one row a sample."""
    plugin = MODELS.plugin(name)
    what = f"samples of shape {tuple(inputs.shape[1:])} and type {inputs.dtype}"
    try:
        outputs = module(inputs)
    except Exception as error:
        place = plugin.blame(error, "MODELS", name) if plugin else "task.model"
        said = (str(error).splitlines() or [""])[0]
        raise BadInput(
            f'{place}: model "{name}" does not take {what} ({type(error).__name__}: {said}); '
            "correct it, or take another for this data set"
        ) from error
    place = plugin.place("MODELS", name) if plugin else "task.model"
    found = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
    if found != (len(inputs), classes):
        raise BadInput(
            f'{place}: model "{name}" gives {found} for {len(inputs)} {what}; it must give '
            f"{(len(inputs), classes)}, a score for each of the {classes} classes"
        )
    checked: Tensor = outputs
    return checked
