"""Some rows of an array that stays where it is."""

from typing import Any

import numpy as np


class SelectedRows:
    """Reads like the array with only these rows, but copies no more of it than is asked for.

    A data set's images lie on disk, mapped by all processes of a run: a copy of most of them would
    take its own memory in each one.
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
        """The type of the array's numbers."""
        return self._array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that a copy of the chosen rows would have."""
        return (len(self._rows), *self._array.shape[1:])
