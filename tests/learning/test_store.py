"""The store of results: whole or absent, bounded, and harmless when something is wrong with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from contracts.project import ROOT
from learning.remembering.store import Store, StoreTrouble
from protocols.wire import Message
from tests.support.other_worker import working_on
from tests.support.waiting import wait_until

NAME = "0123456789abcdef0123456789abcdef"


def entry(number: int = 0, size: int = 1000) -> Message:
    values = np.full(size, number, np.float32)
    return Message("result", "metronome", 0, {"loss": 0.1 + number}, {"w": values})


def name(number: int) -> str:
    return f"{number:032x}"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_what_was_kept_comes_back_bit_for_bit(store: Store) -> None:
    store.put(NAME, entry(3))

    found = Store(store.root).get(NAME)

    assert found is not None and found.meta == {"loss": 3.1}
    assert found.tensors["w"].tobytes() == entry(3).tensors["w"].tobytes()
    assert store.get(name(9)) is None


@pytest.mark.parametrize("damage", ["a bit", "cut", "empty", "garbage"])
def test_a_damaged_entry_is_not_found_and_removed(store: Store, damage: str) -> None:
    store.put(NAME, entry())
    content = bytearray(store.path(NAME).read_bytes())
    content[-1] ^= 1
    kinds = {"a bit": content, "cut": content[:99], "empty": bytearray()}
    kinds["garbage"] = bytearray(os.urandom(5000))
    store.path(NAME).write_bytes(kinds[damage])

    assert store.get(NAME) is None
    assert not store.path(NAME).exists()


def test_what_was_not_used_for_longest_makes_room(store: Store) -> None:
    for number in range(20):
        store.put(name(number), entry(number))
        os.utime(store.path(name(number)), (number, number))
    used = sum(size for _, size, _ in store.scan())
    assert store.get(name(0)) is not None  # used just now, though it is the oldest

    store.set_limit(used // 2)

    kept = [number for number in range(20) if store.knows(name(number))]
    assert kept[0] == 0 and kept[1:] == list(range(21 - len(kept), 20))
    assert used * 0.4 < sum(size for _, size, _ in store.scan()) <= used * 0.45
    for number in range(100, 140):
        store.put(name(number), entry(number))
    assert sum(size for _, size, _ in store.scan()) <= used // 2


def test_an_entry_that_is_larger_than_the_store_is_not_kept(store: Store) -> None:
    store.put(NAME, entry())
    store.set_limit(10_000)

    store.put(name(1), entry(size=100_000))

    assert store.knows(NAME) and not store.knows(name(1))


def test_the_size_is_counted_anew_when_its_file_is_damaged_or_missing(store: Store) -> None:
    store.put(NAME, entry())
    size = store.size()
    assert size == sum(taken for _, taken, _ in store.scan())

    (store.root / "size").write_text("nonsense")

    assert store.size() == size


def test_writers_that_are_killed_leave_only_whole_entries(store: Store) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.learning.test_store import *\n"
        "store, number = Store(Path(sys.argv[1])), 0\n"
        "while True:\n"
        "    number = (number + 1) % 50; store.put(name(number), entry(number, 30_000))\n"
    )
    words = [sys.executable, "-c", program, str(store.root)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    writers = [subprocess.Popen(words, env=environment) for _ in range(3)]
    wait_until(lambda: store.knows(name(49)), seconds=60)
    for writer in writers:
        time.sleep(0.05)
        writer.send_signal(signal.SIGKILL)
        writer.wait()

    for number in range(50):
        found = store.get(name(number))
        assert found is None or found.tensors["w"].tolist() == [number] * 30_000
        assert found is not None or not store.path(name(number)).exists()
    # What the killed ones left aside goes with the next run, once it is old.
    for path in (store.root / "aside").iterdir():
        os.utime(path, (1, 1))
    Store(store.root)
    assert list((store.root / "aside").iterdir()) == []


def test_one_process_at_a_time_works_on_a_name_until_it_ends(store: Store) -> None:
    with working_on(store.root, NAME):
        assert not store.begin(NAME)
        assert store.begin(name(1))
    assert store.begin(NAME)


def test_a_store_of_another_version_is_named_with_the_remedy(store: Store) -> None:
    (store.root / "format").write_text("99")

    with pytest.raises(StoreTrouble, match=r"another version .*'99'.*cache --clear"):
        Store(store.root)


def test_a_store_that_cannot_be_made_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreTrouble, match=r"file/store: .*cannot be remembered.*XDG_CACHE_HOME"):
        Store(tmp_path / "file" / "store")


def test_a_full_disk_is_trouble_and_leaves_nothing_half_written(store: Store) -> None:
    # The largest file that this process may write stands in for the disk's end: the kernel refuses
    # the write with an error in both cases.
    program = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from tests.learning.test_store import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "store = Store(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "try: store.put(NAME, entry(size=30_000))\n"
        "except StoreTrouble as error: print(error)\n"
    )
    words = [sys.executable, "-c", program, str(store.root)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    said = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)

    assert "cannot be remembered (File too large)" in said.stdout
    assert not store.knows(NAME) and list((store.root / "aside").iterdir()) == []
