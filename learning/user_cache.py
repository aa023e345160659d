"""The user's cache directory, whose files are written so that they are complete or absent."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def cache_dir() -> Path:
    """Return `metronome` under XDG_CACHE_HOME, or under ~/.cache if that is not set."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "metronome"


def shared_except(part: str, base: Path) -> Path:
    """Make a directory for XDG_CACHE_HOME that shares all with the user's cache but one part.

    For tests and measurements that must begin without what earlier runs have left there.
    """
    ours, made = cache_dir().absolute(), base / cache_dir().name
    made.mkdir(parents=True)
    if ours.is_dir():
        for path in ours.iterdir():
            if path.name != part:
                (made / path.name).symlink_to(path)
    return base


def write_json(path: Path, value: Any) -> None:
    """Write to a temporary file and rename it, so that no reader sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=".aside-")
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(value, file)
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise


def write_arrays(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write every array as NAME.npy into a temporary folder, then rename that to `folder`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".aside-"))
    try:
        aside.chmod(0o755)
        for name, array in arrays.items():
            np.save(aside / f"{name}.npy", array, allow_pickle=False)
        os.rename(aside, folder)
    except OSError:
        # Another process may have stored the same arrays first; theirs are as good.
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def read_arrays(folder: Path, names: tuple[str, ...]) -> dict[str, np.ndarray] | None:
    """Map the arrays into memory shared by all processes; return None if any is missing."""
    try:
        return {
            name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in names
        }
    except (OSError, ValueError):
        return None
