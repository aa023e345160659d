"""The notebook of docs/ runs to its end, and shows what its text says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.project import ROOT
from tests.support import emulated, notebook

pytestmark = [pytest.mark.emulation, pytest.mark.beside]

FILE = ROOT / "docs" / "from-python.ipynb"


def test_the_notebook_runs_and_shows_tables_and_figures(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(Path(notebook.__file__)), str(FILE)],
        cwd=tmp_path,
        env=emulated.environment(),
        capture_output=True,
        text=True,
        timeout=1100,
    )
    assert done.returncode == 0, done.stdout + done.stderr

    shown = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"cell"')]
    cells = json.loads(FILE.read_text())["cells"]
    assert len(shown) == sum(cell["cell_type"] == "code" for cell in cells)
    kinds = [one.get("as") for one in shown]
    assert kinds.count(["text/html"]) == 2 and kinds.count(["image/png"]) == 2
    said = [one["text"] for one in shown if "text" in one]
    assert "('fedavgm', 'fedavgm')" in said
    (slower,) = (float(text) for text in said if text.replace(".", "").isdigit())
    assert slower > 1.5, "on the slower link"
    assert 'links.edge-cloud: unknown profile "5gg"; did you mean' in done.stdout
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
