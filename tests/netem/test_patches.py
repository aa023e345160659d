"""The changes to the guest's kernel: which variant is taken, and what is refused."""

from pathlib import Path

import pytest

from netem.guest import patches
from netem.guest.patches import Mark, Piece

_OLD = "one\ntwo\nthree\n"
_VARIANT = "Why.\n\n--- a/file.c\n+++ b/file.c\n@@ -1,3 +1,3 @@\n one\n-{old}\n+{new}\n three\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of one file, and a place for variants beside it."""
    (tmp_path / "patches").mkdir()
    monkeypatch.setattr(patches, "PATCHES", tmp_path / "patches")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file.c").write_text(_OLD)
    return tmp_path / "tree"


def _variant(version: str, old: str, new: str) -> None:
    text = _VARIANT.format(old=old, new=new)
    (patches.PATCHES / f"change.{version}.patch").write_text(text)


def test_the_variant_of_the_nearest_older_kernel_is_taken(tree: Path) -> None:
    for version in ("6.1", "6.8", "7.2"):
        _variant(version, "two", f"for {version}")

    (applied,) = patches.apply(tree, (6, 12), [Piece("change", "safety")])

    assert applied.how == "change.6.8.patch"
    assert (tree / "file.c").read_text() == "one\nfor 6.8\nthree\n"


def test_a_variant_that_leaves_something_over_is_not_taken_and_changes_nothing(tree: Path) -> None:
    _variant("6.1", "two", "half")
    _variant("7.2", "two", "whole")
    piece = Piece("change", "repeatability", left_over=Mark("file.c", "half"))

    (applied,) = patches.apply(tree, (6, 12), [piece])

    assert applied.how == "change.7.2.patch"
    assert (tree / "file.c").read_text() == "one\nwhole\nthree\n"


def test_what_a_kernel_has_already_is_left_alone(tree: Path) -> None:
    _variant("6.1", "two", "new")
    piece = Piece("change", "repeatability", upstream=Mark("file.c", r"one.two"))

    (applied,) = patches.apply(tree, (6, 12), [piece])

    assert applied.how == "this kernel has it already"
    assert (tree / "file.c").read_text() == _OLD


def test_a_needed_change_that_does_not_fit_is_refused_in_one_sentence(tree: Path) -> None:
    _variant("6.1", "something else", "new")

    with pytest.raises(patches.DoesNotFit, match="the change 'change', which is needed"):
        patches.apply(tree, (6, 12), [Piece("change", "safety")])


def test_a_change_for_speed_that_does_not_fit_is_left_out(tree: Path) -> None:
    _variant("6.1", "something else", "new")

    (applied,) = patches.apply(tree, (6, 12), [Piece("change", "speed")])

    assert "left out" in applied.how
    assert (tree / "file.c").read_text() == _OLD


def test_lines_around_a_change_that_differ_are_no_fit(tree: Path) -> None:
    _variant("6.1", "two", "new")
    (tree / "file.c").write_text("ONE\ntwo\nthree\n")

    with pytest.raises(patches.DoesNotFit):
        patches.apply(tree, (6, 12), [Piece("change", "safety")])


def test_every_piece_has_a_variant_that_says_why() -> None:
    for piece in patches.PIECES:
        variants = list(patches.PATCHES.glob(f"{piece.name}.*.patch"))
        assert variants, piece.name
        for variant in variants:
            assert len(variant.read_text().partition("\n--- a/")[0]) > 60, variant
    names = {path.name.split(".")[0] for path in patches.PATCHES.glob("*.patch")}
    assert names == {piece.name for piece in patches.PIECES}
