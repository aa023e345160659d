"""Torch's version, read from its files."""

import importlib.metadata
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import torch

from learning import torch_version as module
from learning.torch_version import torch_version


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModuleSpec("torch", None, origin=str(folder / "__init__.py"))
    monkeypatch.setattr(module, "find_spec", lambda _: spec)
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "2.13.0")


def test_it_is_what_torch_says_itself() -> None:
    assert torch_version() == str(torch.__version__)


def test_the_build_is_named_where_the_package_leaves_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, monkeypatch)
    (tmp_path / "version.py").write_text("debug = False\n__version__ = '2.13.0+cu130'\n")

    assert torch_version() == "2.13.0+cu130"


def test_without_torchs_own_word_it_is_the_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, monkeypatch)

    assert torch_version() == "2.13.0"
