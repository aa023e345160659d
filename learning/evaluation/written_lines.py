"""The lines of evaluations.jsonl: each is written once, however often its evaluator is started."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contracts.storage import about

Line = dict[str, Any]


class WrittenLines:
    """Appends lines to the file, and knows those that an evaluator which died has left there."""

    def __init__(self, path: Path) -> None:
        """Read what is there, and cut off the line at which it died."""
        self._path = path
        self._left: dict[tuple[int | None, str], Line] = {}
        if not path.exists():
            return
        with about(path), path.open("r+b") as file:
            text = file.read()
            end = text.rfind(b"\n") + 1
            file.truncate(end)
        for line in map(json.loads, text[:end].splitlines()):
            self._left[line["round"], line["key"]] = line

    def once(self, round: int | None, key: str, make: Callable[[], Line]) -> Line:
        """Return the line about this model, or make it and write it."""
        if left := self._left.pop((round, key), None):
            return left
        line = make()
        text = json.dumps(line, allow_nan=False)
        with about(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
        return line
