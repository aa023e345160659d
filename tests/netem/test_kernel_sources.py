"""Which of the kernel sources on a machine the guest's kernel is built from."""

from pathlib import Path

import pytest

from netem.guest import kernel, sources
from netem.guest.sources import all_sources, candidates


@pytest.fixture(autouse=True)
def _two_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proven changes with what is measured; these tests are about the choice."""
    monkeypatch.setattr(sources, "PROVEN", frozenset({(6, 1), (6, 12)}))


def _archive(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.touch()
    return path


def test_archives_are_found_as_debian_and_ubuntu_have_them(tmp_path: Path) -> None:
    debian = _archive(tmp_path / "linux-source-6.12.tar.xz")
    ubuntu = _archive(tmp_path / "linux-source-6.8.0" / "linux-source-6.8.0.tar.bz2")
    (tmp_path / "linux-source-6.8.0.tar.bz2").symlink_to(ubuntu)
    _archive(tmp_path / "linux-source-6.12.tar.xz.sig")
    _archive(tmp_path / "linux-headers-6.12.tar.xz")

    found = all_sources(tmp_path)

    assert [(source.path, source.version, source.packing) for source in found] == [
        (debian, (6, 12), "xz"),
        (ubuntu, (6, 8), "bz2"),
    ]
    assert [source.top for source in found] == ["linux-source-6.12", "linux-source-6.8.0"]


def test_the_newest_proven_source_comes_first_and_untried_ones_last(tmp_path: Path) -> None:
    for version in ("5.15", "6.1", "6.8.0", "6.12", "9.9"):
        _archive(tmp_path / f"linux-source-{version}.tar.xz")

    assert [source.version for source in candidates(all_sources(tmp_path))] == [
        (6, 12),
        (6, 1),
        (6, 8),
    ]


def test_a_source_that_is_not_taken_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("5.15", "6.1", "9.9"):
        _archive(tmp_path / f"linux-source-{version}.tar.xz")
    monkeypatch.setattr(sources, "SOURCES", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    newest, taken, oldest = kernel.remarks()

    assert newest.endswith("not used, newer than 7.2, the newest that was tried")
    assert taken.endswith("linux-source-6.1.tar.xz: will be used")
    assert oldest.endswith("not used, older than 6.1")
    assert sources.OLDEST <= sources.NEWEST
