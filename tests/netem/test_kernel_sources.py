"""Which of the kernel sources on a machine the guest's kernel is built from."""

from pathlib import Path

from netem.guest import sources
from netem.guest.sources import all_sources, candidates


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


def test_a_source_that_is_not_taken_says_why(tmp_path: Path) -> None:
    _archive(tmp_path / "linux-source-5.15.tar.xz")
    _archive(tmp_path / "linux-source-9.9.tar.xz")

    newest, oldest = (source.remark() for source in all_sources(tmp_path))

    assert newest.endswith("not used, newer than 7.2, the newest that was tried")
    assert oldest.endswith("not used, older than 6.1")
    assert sources.OLDEST <= sources.NEWEST
