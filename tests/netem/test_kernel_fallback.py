"""A source that does not make a kernel is passed over, and the next one is taken."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from contracts.errors import BadInput
from netem.guest import kernel, kernel_build, kernel_store, sources
from netem.guest.kernel_build import Report
from netem.guest.sources import Source


@pytest.fixture(autouse=True)
def _two_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proven changes with what is measured; these tests are about the choice."""
    monkeypatch.setattr(sources, "PROVEN", frozenset({(6, 1), (6, 12)}))


class Builds:
    """Builds that fail for the versions in `failing`; remembers what was tried."""

    def __init__(self) -> None:
        self.failing: dict[str, str] = {}
        self.tried: list[str] = []

    def build(self, source: Source, place: Path, log: Path, report: Report) -> Path:
        self.tried.append(source.version_text)
        if script := self.failing.get(source.version_text):
            kernel_build.run(["sh", "-c", script], place, log)
        (place / "linux").write_text(source.version_text)
        return place / "linux"


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builds:
    """A machine with the sources of 6.12, 6.8 and 6.1, in an order that the versions give."""
    found = Builds()
    monkeypatch.setattr(kernel_build, "build", found.build)
    monkeypatch.setattr(sources, "SOURCES", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for number, version in enumerate(("6.1", "6.8.0", "6.12")):
        archive = tmp_path / f"linux-source-{version}.tar.xz"
        archive.write_text("x" * number)
    return found


def _remark(version: str) -> str:
    [found] = [line for line in kernel.remarks() if f"-{version}.tar" in line]
    return found.partition(": ")[2]


def test_the_next_source_is_tried_and_the_failed_one_is_not_tried_again(builds: Builds) -> None:
    builds.failing["6.12"] = "echo no rule to make hay; exit 3"
    said: list[str] = []

    path = kernel.ensure(said.append)

    assert path.read_text() == "6.1"
    assert builds.tried == ["6.12", "6.1"]
    sentence = "sh failed with code 3: no rule to make hay"
    assert said[0] == f"kernel: Linux 6.12 is passed over: {sentence}"
    assert kernel.ensure(said.append) == kernel.cached() == path
    assert builds.tried == ["6.12", "6.1"]
    assert _remark("6.12").startswith(f"passed over: {sentence} (log: ")
    assert "no rule to make hay" in Path(_remark("6.12").split("(log: ")[1][:-1]).read_text()
    assert _remark("6.1") == "used"
    assert _remark("6.8.0").startswith("not used, 6.1 comes first; this version is not among")
    assert not list(kernel_store.kernels().glob("*.building"))


def test_a_changed_archive_is_tried_again(builds: Builds) -> None:
    builds.failing["6.12"] = "exit 1"
    kernel.ensure(print)
    builds.failing.clear()

    (sources.SOURCES / "linux-source-6.12.tar.xz").write_text("a point release later")

    assert kernel.cached() is None
    assert kernel.ensure(print).read_text() == "6.12"


def test_when_none_fits_one_sentence_says_why_and_what_to_do(builds: Builds) -> None:
    for version in ("6.1", "6.8", "6.12"):
        builds.failing[version] = f"echo 'a.c:1: error: {version} is odd'; echo more; exit 2"

    for _ in ("at first", "and again"):
        with pytest.raises(BadInput) as caught:
            kernel.ensure(print)
        sentence = str(caught.value)
        assert all(f"error: {version} is odd" in sentence for version in ("6.1", "6.8", "6.12"))
        assert "sudo apt-get install -y linux-source" in sentence
        assert "use --clock wall" in sentence
    assert len(builds.tried) == 3
    assert "no source here makes one" in kernel.describe()

    kernel_store.forget_misfits()
    with pytest.raises(BadInput):
        kernel.ensure(print)
    assert len(builds.tried) == 6


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo 'cc1: fatal error: write: No space left on device'; exit 2", "make room"),
        ("echo 'make[3]: *** [scripts/Makefile.build:250: mm/slub.o] Killed'; exit 2", "make room"),
        ("kill -TERM $$", "sh was ended by signal 15; try again"),
    ],
)
def test_trouble_of_the_machine_is_not_held_against_the_source(
    builds: Builds, script: str, sentence: str
) -> None:
    builds.failing["6.12"] = script

    with pytest.raises(BadInput, match=sentence):
        kernel.ensure(print)

    assert builds.tried == ["6.12"]
    assert _remark("6.12") == "will be used"


def test_a_source_whose_unpacker_is_missing_names_the_package(
    builds: Builds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "zstd" else f"/bin/{name}")

    source = Source(tmp_path / "linux-source-6.8.0.tar.zst", (6, 8), "zst")
    with pytest.raises(BadInput, match="apt-get install -y zstd; or use --clock wall, which takes"):
        kernel_build.build(source, tmp_path, tmp_path / "log", print)


def test_an_archive_that_cannot_be_unpacked_is_passed_over_with_the_unpackers_words(
    builds: Builds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    archive = tmp_path / "linux-source-6.12.tar.xz"
    archive.write_text("half a download")

    with pytest.raises(RuntimeError, match=r"tar failed with code 2: xz: .* not recognized"):
        kernel_build.build(Source(archive, (6, 12), "xz"), tmp_path, tmp_path / "log", print)


def test_ubuntus_archive_is_unpacked_through_its_link(tmp_path: Path) -> None:
    folder = tmp_path / "linux-source-6.8.0"
    (folder / "linux-source-6.8.0" / "drivers" / "usb").mkdir(parents=True)
    (folder / "linux-source-6.8.0" / "Makefile").write_text("VERSION = 6\n")
    (folder / "linux-source-6.8.0" / "drivers" / "usb" / "hub.c").write_text("never compiled\n")
    archive = folder / "linux-source-6.8.0.tar.bz2"
    subprocess.run(["tar", "-cjf", archive, "-C", folder, "linux-source-6.8.0"], check=True)
    (tmp_path / archive.name).symlink_to(os.path.join("linux-source-6.8.0", archive.name))
    tree = tmp_path / "tree"
    tree.mkdir()

    [source] = sources.all_sources(tmp_path)
    kernel_build.run(kernel_build.unpack_command(source, tree), tmp_path, tmp_path / "log")

    assert (tree / "Makefile").read_text() == "VERSION = 6\n"
    assert not (tree / "drivers" / "usb" / "hub.c").exists()
