"""What all emulation tests rely on."""

import pytest

# A run that hangs ends itself at the bounds of its scenario; this is for one that does not. A busy
# machine may take minutes for what takes seconds.
_SECONDS = 1200


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("emulation") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_SECONDS))
