"""A server that was restarted waits for its children to join it anew: over real sockets."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from contracts.control import Cells, Left
from nodes.control import Control
from nodes.parent import Parent
from nodes.rounds import RoundServer
from tests.support.lines import PATIENCE, aside
from tests.support.stars import Listener, Star

ALL = ["client1", "client2"]


class Restarted(Star):
    """A star whose server has been restarted, and so begins without anybody."""

    def __init__(self, round_limit: str = "5s") -> None:
        super().__init__(2, round=round_limit)
        self.server.endpoint.close()
        ours, theirs = socket.socketpair()
        self.launcher = Control(theirs)
        self.server = RoundServer(
            self.plan.node("cloud"),
            self.plan,
            self.method,
            self.listener.recorder,
            self.port,
            control=Control(ours),
            starts_empty=True,
        )

    def join_anew(self, name: str, since: int) -> None:
        parent = Parent(self.plan.node(name), self.plan, Listener().recorder, self.port)
        self.parents[name] = parent
        parent.join_during_run(since, holds=0)

    def members(self) -> list[str]:
        return self.server._attendance.names


@pytest.fixture
def star() -> Iterator[Restarted]:
    made = Restarted()
    yield made
    made.close()


def test_it_waits_for_all_and_not_only_for_the_first(star: Restarted) -> None:
    waiting = aside(lambda: star.server.await_return(ALL))

    star.join_anew("client1", since=1)
    time.sleep(0.2)
    assert not waiting.done()
    star.join_anew("client2", since=2)

    waiting.result(PATIENCE)
    assert star.members() == ALL


def test_it_does_not_wait_for_who_has_left_meanwhile(star: Restarted) -> None:
    waiting = aside(lambda: star.server.await_return(ALL))

    star.join_anew("client1", since=1)
    star.launcher.say(Left("client2", 3))

    waiting.result(PATIENCE)
    assert star.members() == ["client1"]


def test_it_waits_no_longer_than_a_round() -> None:
    star = Restarted(round_limit="300ms")

    start = time.monotonic()
    star.server.await_return(ALL)

    assert 0.3 <= time.monotonic() - start < PATIENCE
    assert star.members() == []
    star.close()


def test_it_gives_up_when_told_that_all_is_over(star: Restarted) -> None:
    over = threading.Event()
    waiting = aside(lambda: star.server.await_return(ALL, given_up=over.is_set))

    over.set()
    star.launcher.say(Cells([], ["cloud"], 1))  # whatever wakes it

    waiting.result(PATIENCE)


def test_words_of_other_kinds_are_kept_for_who_asks_for_them() -> None:
    ours, theirs = (Control(line) for line in socket.socketpair())
    for said in (Left("client1", 1), Cells(["cloud"], [], 2), Left("client2", 3)):
        theirs.say(said)

    assert ours.take_available(Left) == [Left("client1", 1), Left("client2", 3)]
    assert ours.take_available(Left) == []
    assert ours.take_available(Cells) == [Cells(["cloud"], [], 2)]
    assert ours.read_available() == []
