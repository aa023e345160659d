"""The figures that an evaluation finds about a model; plain data, without torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scores:
    """The result of one pass over the test set."""

    accuracy: float  # the share of samples classified correctly
    loss: float  # their mean cross entropy
    by_class: list[float | None]  # accuracy of each class; None if it has no samples


@dataclass(frozen=True)
class Dissimilarity:
    """xi^2 and G^2 of one model; xi^2 is None if the server has no samples."""

    xi_squared: float | None
    g_squared: float
