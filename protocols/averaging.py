"""A running weighted mean of models, whose memory does not grow with their number."""

import numpy as np

from protocols.base import Tensors


class WeightedMean:
    """Sums in double precision, so that the order of arrival hardly matters."""

    def __init__(self) -> None:
        self.weight = 0.0
        self._sums: dict[str, np.ndarray] = {}
        self._dtypes: dict[str, np.dtype] = {}

    def add(self, tensors: Tensors, weight: float) -> None:
        """Add one model, without keeping a reference to it."""
        self.weight += weight
        for name, tensor in tensors.items():
            if name not in self._sums:
                self._dtypes[name] = tensor.dtype
                self._sums[name] = np.multiply(tensor, weight, dtype=np.float64)
            else:
                self._sums[name] += np.multiply(tensor, weight, dtype=np.float64)

    def mean(self) -> Tensors:
        """Return the weighted mean in the tensors' own types."""
        return {name: self._typed(name, mean) for name, mean in self.exact().items()}

    def exact(self) -> Tensors:
        """Return the weighted mean in double precision."""
        if not self.weight > 0:
            raise ValueError("a weighted mean needs a positive weight: no update had any samples")
        return {name: total / self.weight for name, total in self._sums.items()}

    def _typed(self, name: str, mean: np.ndarray) -> np.ndarray:
        dtype = self._dtypes[name]
        whole = np.issubdtype(dtype, np.integer)
        return (np.rint(mean) if whole else mean).astype(dtype)  # a count of 6.999... is 7
