"""A view of selected rows of an array, which stays where it is."""

from typing import Any

import numpy as np


class SelectedRows:
    """Behaves like `array[rows]` for reading, but copies only what is asked for.

    A data set's images are a file mapped by all processes of a run; a copy of most of them would
    take extra memory in each process.
    """

    def __init__(self, array: "np.ndarray | SelectedRows", rows: np.ndarray) -> None:
        self._array = array
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, which: Any) -> np.ndarray:
        chosen: np.ndarray = self._array[self._rows[which]]
        return chosen

    @property
    def dtype(self) -> np.dtype:
        """The array's type."""
        return self._array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the selected rows."""
        return (len(self._rows), *self._array.shape[1:])
