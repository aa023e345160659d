"""How much memory may still be taken, by the machine's count and by control groups' limits."""

from pathlib import Path

import psutil
import pytest

from netem import memory_left

MB = 1 << 20


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for /sys/fs/cgroup; the file `own` in it is one for /proc/self/cgroup."""
    monkeypatch.setattr(memory_left, "_GROUPS", tmp_path)
    monkeypatch.setattr(memory_left, "_OWN_GROUPS", tmp_path / "own")
    return tmp_path


def group(path: Path, limit: str, usage: int, reclaimable: int, first: bool = False) -> None:
    path.mkdir(parents=True, exist_ok=True)
    limit_name, usage_name = ("max", "current")
    if first:
        limit_name, usage_name = ("limit_in_bytes", "usage_in_bytes")
    (path / f"memory.{limit_name}").write_text(f"{limit}\n")
    (path / f"memory.{usage_name}").write_text(f"{usage}\n")
    stat = f"{'total_' if first else ''}inactive_file {reclaimable}\n"
    (path / "memory.stat").write_text(f"anon 5\n{stat}")


def test_without_limits_it_is_what_the_machine_has(groups: Path) -> None:
    assert 0 < memory_left.memory_left() <= psutil.virtual_memory().total

    group(groups, "max", 1, 0)
    (groups / "own").write_text("0::/\n")
    assert memory_left.memory_left() > 0


def test_a_limit_counts_what_is_used_but_not_what_can_be_given_back(groups: Path) -> None:
    group(groups / "user" / "mine", str(100 * MB), 70 * MB, 30 * MB)
    (groups / "own").write_text("0::/user/mine\n")

    assert memory_left.memory_left() == 60 * MB


def test_the_limit_of_a_group_above_counts_too(groups: Path) -> None:
    group(groups / "user" / "mine", "max", 70 * MB, 0)
    group(groups / "user", str(90 * MB), 80 * MB, 0)
    (groups / "own").write_text("0::/user/mine\n")

    assert memory_left.memory_left() == 10 * MB


def test_a_container_of_the_first_version_sees_its_own_limit_at_the_root(groups: Path) -> None:
    group(groups / "memory", str(50 * MB), 20 * MB, 0, first=True)
    (groups / "own").write_text("3:cpu,cpuacct:/docker/1f\n2:memory:/docker/1f\n0::/docker/1f\n")

    assert memory_left.memory_left() == 30 * MB


def test_more_used_than_allowed_leaves_nothing(groups: Path) -> None:
    group(groups, str(50 * MB), 60 * MB, 0)
    (groups / "own").write_text("0::/\n")

    assert memory_left.memory_left() == 0
