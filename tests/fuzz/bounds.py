"""How many inputs are tried, and what each of them may take."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TypeVar

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from contracts.errors import BadInput
from tests.support.bounded import bounded

COUNT = "METRONOME_FUZZ_COUNT"
SEED = "METRONOME_FUZZ_SEED"
_SECONDS, _MEGABYTES = 10, 400  # of one input: of the processor

Test = TypeVar("Test", bound=Callable[..., None])


def fuzzed(gate: int) -> Callable[[Test], Callable[[], None]]:
    """Call a test with the seeds of so many inputs: always the same in the gate, others by hand."""
    count = int(os.environ.get(COUNT, gate))

    def decorate(test: Test) -> Callable[[], None]:
        checked = settings(
            max_examples=count,
            deadline=None,  # `expecting_bad_input` has a bound of its own, which also ends a hang
            database=None,
            derandomize=COUNT not in os.environ,
            suppress_health_check=list(HealthCheck),
        )(given(st.integers(0, 2**64 - 1))(test))
        if SEED in os.environ:
            checked = seed(int(os.environ[SEED]))(checked)
        return checked

    return decorate


@contextlib.contextmanager
def expecting_bad_input() -> Iterator[None]:
    """Let the block end well or with one sentence, within its bounds of time and memory."""
    try:
        with bounded(_SECONDS, _MEGABYTES):
            yield
    except BadInput as error:
        sentence = str(error)
        assert sentence.strip() and "\n" not in sentence
        assert len(sentence) < 2100
