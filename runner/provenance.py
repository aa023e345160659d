"""Collects the provenance of a run: version, commit, kernel, torch, engine, processor, Python."""

import os
import platform
import subprocess
import tomllib
from pathlib import Path

from contracts.plugins import brought
from contracts.project import ROOT
from contracts.provenance import UNKNOWN, PluginUsed, Provenance
from contracts.schema import SCHEMA
from learning.torch_version import torch_version

_GIT_SECONDS = 60.0  # it takes a moment; a slow disk may need longer the first time
_PROCESSORS = Path("/proc/cpuinfo")


def collect(engine: str, kernel: str) -> Provenance:
    """Return the provenance of a run that starts now, with this engine and on this kernel."""
    commit, changed = commit_of(ROOT)
    return Provenance(
        schema=SCHEMA,
        version=version(),
        commit=commit,
        changed=changed,
        kernel=kernel,
        torch=torch_version(),
        engine=engine,
        processor=processor(),
        python=f"{platform.python_version()} ({', '.join(platform.python_build())})",
        plugins=tuple(PluginUsed(one.name, str(one.path), one.digest) for one in brought()),
    )


def version() -> str:
    """Return Metronome's version from pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def commit_of(tree: Path) -> tuple[str, bool | None]:
    """Return a tree's commit and whether its files differ from it.

    Both are unknown without git, or where the tree is no repository of its own.
    """
    command = ["git", "-C", str(tree), "-c", f"safe.directory={tree}", "-c", "core.fsmonitor=false"]
    command += ["status", "--porcelain=v2", "--branch", "--untracked-files=normal"]
    # Neither the variables of a git hook nor a repository around the tree must be taken for it.
    environment = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_CEILING_DIRECTORIES": str(tree.parent), "GIT_OPTIONAL_LOCKS": "0"}
    try:
        said = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_SECONDS,
            check=True,
        ).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN, None
    commits = [line.split()[2] for line in said if line.startswith("# branch.oid ")]
    if not commits or commits[0] == "(initial)":
        return UNKNOWN, None
    return commits[0], any(not line.startswith("#") for line in said)


def processor(described: Path = _PROCESSORS) -> str:
    """Return the processor's model from /proc/cpuinfo, or at least its architecture."""
    try:
        lines = described.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    models = [
        text.strip()
        for name, _, text in (line.partition(":") for line in lines)
        if name.strip() == "model name"
    ]
    return next(filter(None, models), platform.machine() or UNKNOWN)
