"""What all emulation tests rely on."""

from collections.abc import Iterator

import pytest

from learning.remembering.store import place
from learning.user_cache import shared_except

# A run that hangs ends itself at the bounds of its scenario; this is for one that does not. A busy
# machine may take minutes for what takes seconds.
_SECONDS = 1200


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("emulation") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(autouse=True, scope="session")
def _nothing_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the user's runs have trained must not change a test, nor a test what they find."""
    with pytest.MonkeyPatch.context() as patch:
        cache = shared_except(place().name, tmp_path_factory.mktemp("cache") / "of-all")
        patch.setenv("XDG_CACHE_HOME", str(cache))
        yield


@pytest.fixture(autouse=True)
def _nothing_remembered(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a test expects to be trained is trained, whichever tests came before."""
    cache = shared_except(place().name, tmp_path_factory.mktemp("cache") / "of-one")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
