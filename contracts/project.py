"""Where the project itself lies: for processes that are started from its tree, and for tests."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
