"""What nodes may touch of the host: the list that the guest's kernel and native runs keep to."""

import sys
from pathlib import Path

import pytest

from contracts.errors import BadInput
from contracts.project import ROOT
from contracts.spool import Spool
from netem import host_files


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with two runs, one of which goes on."""
    for name in ("runs/ours", "runs/other", "secrets", "spool"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def shown(home: Path, *readable: Path) -> dict[str, str]:
    lines = host_files.lines(home / "runs/ours", Spool(home / "spool"), readable)
    return {line[2:]: line[0] for line in lines.splitlines()}


def kind_of(path: Path, lines: dict[str, str]) -> str:
    """Return what applies to a path: the longest line; what is only seen has nothing below it."""
    for one in (path, *path.parents):
        if str(one) in lines:
            return lines[str(one)] if one == path or lines[str(one)] != "s" else "hidden"
    return "hidden"


def test_the_run_directory_and_the_spool_can_be_changed(home: Path) -> None:
    lines = shown(home)

    assert kind_of(home / "runs/ours/events.jsonl", lines) == "w"
    assert kind_of(home / "spool/jobs/one", lines) == "w"


def test_what_the_host_made_and_reads_again_cannot(home: Path) -> None:
    lines = shown(home)

    for name in ("plan.json", "learning.json", "plugins/code.py", "logs/network.log"):
        assert kind_of(home / "runs/ours" / name, lines) == "r", name
    for name in ("lock", "sessions", "guest"):
        assert kind_of(home / "spool" / name, lines) == "s", name
    assert kind_of(home / "spool/guest/mconsole", lines) == "hidden"


def test_code_python_and_libraries_can_be_read(home: Path) -> None:
    lines = shown(home)

    for path in (ROOT / "nodes/launcher.py", Path(sys.prefix, "bin/python"), Path("/usr/bin/env")):
        assert kind_of(path, lines) == "r", path
    assert kind_of(Path("/etc/passwd"), lines) == "r"


def test_homes_secrets_and_other_runs_are_not_there(home: Path) -> None:
    lines = shown(home)

    hidden = [home / "secrets/key", home / "runs/other/plan.json", ROOT / ".git/config"]
    hidden += [ROOT / "runs/one/plan.json", Path("/etc/shadow"), Path("/root/.ssh/id_rsa")]
    for path in (*hidden, Path("/dev/mem"), Path("/proc/1/root"), Path("/var/lib/dpkg/status")):
        assert kind_of(path, lines) == "hidden", path
    assert kind_of(home, lines) == kind_of(home / "runs", lines) == "s"


def test_links_on_the_way_are_shown_and_where_they_lead(home: Path) -> None:
    data = home / "data"
    data.mkdir()
    (home / "link").symlink_to("data")
    (home / "to-link").symlink_to(home / "link")

    lines = shown(home, home / "to-link")

    assert (lines[str(home / "to-link")], lines[str(home / "link")]) == ("s", "s")
    assert kind_of(data / "file", lines) == "r"


def test_links_that_go_in_a_circle_are_left(home: Path) -> None:
    (home / "one").symlink_to("two")
    (home / "two").symlink_to("one")

    assert "r" not in {
        shown(home, home / "one" / "data").get(str(home / name)) for name in ("one",)
    }


def test_what_lies_in_a_readable_directory_needs_no_line_and_hides_nothing(home: Path) -> None:
    (home / "secrets/part").mkdir()

    lines = shown(home, home / "secrets", home / "secrets/part")

    assert str(home / "secrets/part") not in lines
    assert kind_of(home / "secrets/part/key", lines) == "r"


def test_a_run_directory_reached_by_a_link_is_the_one_it_leads_to(home: Path) -> None:
    (home / "latest").symlink_to("runs/ours")

    lines = host_files.lines(home / "latest", Spool(home / "spool"))

    assert f"w {home / 'runs/ours'}" in lines.splitlines()


def test_a_path_that_would_be_two_lines_is_refused(home: Path) -> None:
    (home / "runs/ours\nw ").mkdir()

    with pytest.raises(BadInput, match="line break"):
        host_files.lines(home / "runs/ours\nw ", Spool(home / "spool"))
