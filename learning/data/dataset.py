"""A data set: samples of any shape, each with the number of its class."""

from dataclasses import dataclass

import numpy as np

from learning.data.selected_rows import SelectedRows


@dataclass(frozen=True)
class Dataset:
    """A data set in memory or mapped from the cache; the first axis of its arrays is the samples.

    What a sample is follows from the type of the inputs. Bytes are the pixels of images (C, H, W),
    scaled to 0..1. Floating-point numbers are a vector, or of any other shape. Other integers are
    tokens, which the model is given as they are. `mean` and `std` normalise the first two, for each
    channel or number of a vector; empty ones leave them as they are. Labels are int64.
    """

    train_inputs: np.ndarray | SelectedRows
    train_labels: np.ndarray
    test_inputs: np.ndarray | SelectedRows
    test_labels: np.ndarray
    classes: int
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    name: str = ""  # as scenarios call it

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self.train_inputs.shape[1:])

    @property
    def tokens(self) -> bool:
        """Whether samples are sequences of tokens, which models take as integers."""
        return is_tokens(self.train_inputs.dtype)


def is_tokens(dtype: np.dtype) -> bool:
    """Return whether inputs of this type are tokens, rather than pixels or other numbers."""
    return dtype.kind in "iu" and dtype != np.uint8
