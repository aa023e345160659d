"""A run that is looked at while it goes on takes the same time, to the byte, as one that is not."""

import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import emulated
from tests.support.emulated import TREE
from tests.support.live_pages import fresh

pytestmark = [pytest.mark.emulation, pytest.mark.beside]

OPTIONS = ("--clock", "virtual", "--set", "task.model=tiny-mlp", "--set", "protocol.rounds=3")


def test_a_live_view_that_is_looked_at_changes_no_record(tmp_path: Path) -> None:
    alone = emulated.run(TREE, tmp_path / "alone", *OPTIONS)
    assert alone.code == 0, alone.output

    (tmp_path / "shown").mkdir()
    words = emulated.command(TREE, tmp_path / "shown", *OPTIONS, "--live")
    process = emulated.start(words, tmp_path / "shown")
    seen = look_on(process)

    assert process.returncode == 0, seen["output"]
    assert seen["over"] and seen["rounds"] == 3, "the page was there, up to the last round"
    assert seen["looks"] > 3
    for name in ("events.jsonl", "rounds.csv", "links.csv"):
        records = [tmp_path / which / "run" / name for which in ("alone", "shown")]
        assert records[0].read_bytes() == records[1].read_bytes(), name


def look_on(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """Read what a run says and ask its live view all the time, until it has ended."""
    assert process.stdout is not None
    found: dict[str, Any] = {"looks": 0, "over": False, "rounds": 0}
    lines: list[str] = []
    looking = threading.Thread(target=_ask, args=(_address(process, lines), found))
    looking.start()
    lines += process.stdout
    process.wait(240)
    looking.join(60)
    return found | {"output": "".join(lines)}


def _address(process: "subprocess.Popen[str]", lines: list[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if line.startswith("live: "):
            return line.removeprefix("live: ").strip()
    raise AssertionError("".join(lines))


def _ask(address: str, found: dict[str, Any]) -> None:
    looks, over, rounds = 0, False, 0
    while not over:
        answer = fresh(address)  # as a page that knows nothing: all of it, every time
        looks, over = looks + 1, answer["over"]
        rounds = len(answer["data"]["runs"][0]["spent"]["rounds"])
        time.sleep(0.1)
    found |= {"looks": looks, "over": over, "rounds": rounds}
