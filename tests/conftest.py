"""What all tests rely on."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# Hypothesis also measures how fast this machine is just now, which says nothing about our code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> None:
    """Whoever starts the tests in the background may have SIGINT ignored, and that is inherited."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _the_terminal_is_an_ordinary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts the tests without a terminal has TERM=dumb, where nothing moves."""
    monkeypatch.setenv("TERM", "xterm")
