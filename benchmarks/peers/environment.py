"""Flower's own environment: its packages ask for older versions of some of ours."""

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

from contracts.errors import BadInput
from contracts.project import ROOT

DEFAULT = ROOT / ".venv-peers"
# Flower neither reports on its use nor looks for newer versions.
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def requirements() -> list[str]:
    """Return the pinned packages of the group `peers` in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pinned: list[str] = project["dependency-groups"]["peers"]
    return pinned


def install(folder: Path) -> None:
    """Make the environment; what Flower does not ask for itself, it takes from ours."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements()], check=True)
    question = "import sysconfig; print(sysconfig.get_path('purelib'))"
    asked = subprocess.run([python, "-c", question], check=True, capture_output=True, text=True)
    Path(asked.stdout.strip(), "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")


def find(folder: Path) -> Path:
    """Return the folder of Flower's commands; BadInput if it is not installed there."""
    commands = folder.absolute() / "bin"
    missing = [
        name for name in ("flwr", "flower-superlink", "ray") if not (commands / name).exists()
    ]
    if missing:
        raise BadInput(
            f"{folder}: Flower is not installed there ({', '.join(missing)}); "
            "python -m benchmarks.peers --install makes that environment"
        )
    return commands


def variables(commands: Path, home: Path) -> dict[str, str]:
    """Return the environment variables of Flower's processes, whose files go to `home`."""
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    ours = {"PATH": path, "PYTHONPATH": str(ROOT), "FLWR_HOME": str(home)}
    return os.environ | QUIET | ours
