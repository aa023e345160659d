"""What this machine's kernel can do, and the backend that follows from it."""

import errno
import os
import socket
import struct
import time

import pytest

from contracts.errors import BadInput
from contracts.links import LinkSpec, Shape
from netem import backends, capabilities, netlink, syscalls
from netem.capabilities import Capabilities, probe

ALL = Capabilities(True, True, True, True, True, True)
NO_NETEM = Capabilities(namespaces=True, veth=True, bridge=True, htb=True)
RATE_ONLY = [LinkSpec("h", "s", "edge-cloud", None, Shape(1e6, 0, 0, 0, 9), None)]
WITH_DELAY = [LinkSpec("h", "s", "edge-cloud", None, Shape(1e6, 0.01, 0, 0, 9), None)]
DELAY_ONLY = [LinkSpec("h", "s", "edge-cloud", None, Shape(None, 0.01, 0, 0, 9), None)]
NOT_SHAPED = [LinkSpec("h", "s", None, None, None, None)]

# Trying


@pytest.mark.emulation
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_root_finds_what_every_linux_has_and_leaves_nothing_behind() -> None:
    before = socket.if_nameindex()

    can = probe()

    assert can.namespaces and can.veth and can.bridge and can.htb
    assert socket.if_nameindex() == before


def test_without_the_right_to_make_namespaces_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(syscalls, "unshare_network", refuse)

    can = probe()

    assert not (can.namespaces or can.veth or can.bridge or can.htb or can.netem)


def test_a_probe_that_breaks_says_so_and_claims_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def explode() -> Capabilities:
        raise RuntimeError("the probe broke")

    monkeypatch.setattr(capabilities, "_try_all", explode)

    assert probe() == Capabilities(not_tried="could not be tried")
    assert "the probe broke" in capfd.readouterr().err


def test_a_probe_that_hangs_is_ended_and_is_not_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "_try_all", lambda: time.sleep(60))
    monkeypatch.setattr(capabilities, "_PATIENCE_SECONDS", 0.2)

    before = time.monotonic()
    can = probe()

    assert can == Capabilities(not_tried="could not be tried in time")
    assert time.monotonic() - before < 5


# Answers of the kernel


def request(kind: int = 16) -> bytes:
    return struct.pack("=IHHII", 16, kind, 5, 0, 0)


def answer(code: int) -> bytes:
    return struct.pack("=IHHIIi", 20, 2, 0, 0, 0, -code)


class Kernel:
    """Stands in for a netlink socket: gives these answers, a datagram each."""

    def __init__(self, *codes: int) -> None:
        self.answers = [answer(code) for code in codes]
        self.sent: list[bytes] = []

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def recv(self, _size: int) -> bytes:
        return self.answers.pop(0)


def test_a_refused_batch_leaves_no_answer_for_the_next_one() -> None:
    kernel = Kernel(0, errno.ENOENT, errno.EINVAL, 0)

    with pytest.raises(FileNotFoundError, match="first: No such file"):
        netlink.send(kernel, request() * 3, "first")  # type: ignore[arg-type]
    netlink.send(kernel, request(), "second")  # type: ignore[arg-type]

    assert kernel.answers == []


def test_a_long_batch_is_cut_between_messages() -> None:
    count = 5000
    kernel = Kernel(*[0] * count)

    netlink.send(kernel, request() * count, "long")  # type: ignore[arg-type]

    assert len(kernel.sent) > 1
    assert all(len(piece) % 16 == 0 for piece in kernel.sent)
    assert b"".join(kernel.sent) == request() * count


# Choosing


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize(
    ("links", "can", "backend", "why"),
    [
        (WITH_DELAY, ALL, "native", "has all"),
        (WITH_DELAY, NO_NETEM, "guest", "netem"),
        (RATE_ONLY, NO_NETEM, "native", "has all"),
        (RATE_ONLY, Capabilities(namespaces=True, veth=True, bridge=True), "guest", "HTB"),
        (DELAY_ONLY, Capabilities(namespaces=True, veth=True, bridge=True), "guest", "lacks netem"),
        (NOT_SHAPED, Capabilities(namespaces=True, veth=True, bridge=True), "native", "has all"),
        (NOT_SHAPED, Capabilities(), "guest", "namespaces, veth, bridge"),
    ],
)
def test_auto_takes_native_when_the_kernel_has_what_the_links_need(
    links: list[LinkSpec], can: Capabilities, backend: str, why: str
) -> None:
    chosen, reason = backends.choose("auto", "wall", links, lambda: can)

    assert chosen == backend
    assert why in reason


@pytest.mark.usefixtures("as_root")
def test_a_kernel_that_could_not_be_tried_is_not_said_to_lack_anything() -> None:
    slow = Capabilities(not_tried="could not be tried in time")

    chosen, reason = backends.choose("auto", "wall", RATE_ONLY, lambda: slow)

    assert (chosen, reason) == ("guest", "what this kernel has could not be tried in time")
    with pytest.raises(BadInput, match=r"native .*could not be tried in time; use --backend guest"):
        backends.choose("native", "wall", RATE_ONLY, lambda: slow)


def test_without_root_auto_takes_the_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert backends.choose("auto", "wall", RATE_ONLY, lambda: ALL) == (
        "guest",
        "native runs need root",
    )


@pytest.mark.usefixtures("as_root")
def test_native_without_netem_is_refused_in_a_sentence_that_offers_the_guest() -> None:
    with pytest.raises(BadInput, match=r"^backend: .*lacks netem.*; use --backend guest$"):
        backends.choose("native", "wall", WITH_DELAY, lambda: NO_NETEM)


@pytest.mark.usefixtures("as_root")
def test_the_virtual_clock_takes_the_guest_and_refuses_native() -> None:
    assert backends.choose("auto", "virtual", RATE_ONLY, lambda: ALL)[0] == "guest"
    assert backends.choose("guest", "virtual", RATE_ONLY, lambda: ALL)[0] == "guest"
    with pytest.raises(BadInput, match=r"^backend: the virtual clock .*; use --backend guest"):
        backends.choose("native", "virtual", RATE_ONLY, lambda: ALL)


@pytest.mark.usefixtures("as_root")
def test_what_is_asked_for_is_taken() -> None:
    assert backends.choose("guest", "wall", RATE_ONLY, lambda: ALL)[0] == "guest"
    assert backends.choose("native", "wall", RATE_ONLY, lambda: ALL)[0] == "native"


@pytest.mark.parametrize("name", ["native", "guest"])
def test_a_backend_is_made_by_its_name(name: str) -> None:
    assert backends.create(name, "wall", seed=1).name == name
