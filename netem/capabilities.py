"""Finds out what this machine's kernel can do, by trying it in a throw-away namespace."""

import json
import os
import signal
import socket
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from contracts.links import Shape
from netem import netlink, requests, syscalls

_BROKEN = "could not be tried"  # the child has printed why
_MAC = "02:4d:00:00:00:01"
_PATIENCE_SECONDS = 120.0  # it takes a fraction of a second, but on a slow disk modules are loaded


@dataclass(frozen=True)
class Capabilities:
    """What the kernel can do for us; without the right to make namespaces, nothing was tried.

    `not_tried` says why the rest means nothing; it is empty where the kernel has answered.
    """

    namespaces: bool = False
    veth: bool = False
    bridge: bool = False
    htb: bool = False
    netem: bool = False
    fq_codel: bool = False
    openvswitch: bool = False
    not_tried: str = ""


def probe() -> Capabilities:
    """Try everything in a child process, whose namespace vanishes when it ends."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            theirs.sendall(json.dumps(asdict(_try_all())).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        ours.settimeout(_PATIENCE_SECONDS)
        try:
            answer = ours.recv(1 << 16)
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return Capabilities(not_tried="could not be tried in time")
    os.waitpid(child, 0)
    return Capabilities(**json.loads(answer)) if answer else Capabilities(not_tried=_BROKEN)


def _try_all() -> Capabilities:
    loaded = Path("/sys/module/openvswitch").exists() or any(
        Path("/lib/modules", os.uname().release).glob("kernel/net/openvswitch/openvswitch.ko*")
    )
    try:
        syscalls.unshare_network()
        route = netlink.open_socket()
    except OSError:
        return Capabilities(openvswitch=loaded)
    ends = ("probe", 10), ("peer", 11)
    veth = _works(route, lambda: requests.create_veth(*ends, _MAC, os.getpid()))
    _works(route, lambda: requests.create_veth(("fair", 13), ("fair-peer", 14), _MAC, os.getpid()))
    with_rate = Shape(rate=1e6, delay=0, jitter=0, loss=0, queue=10)
    with_delay = Shape(rate=None, delay=0.01, jitter=0, loss=0, queue=10)
    fair = Shape(rate=1e6, delay=0, jitter=0, loss=0, queue=10, queueing="fq_codel")
    return Capabilities(
        namespaces=True,
        veth=veth,
        bridge=_works(route, lambda: requests.create_bridge("bridge", 12)),
        htb=veth and _works(route, lambda: requests.add_shape(10, with_rate, 0)),
        netem=veth and _works(route, lambda: requests.add_shape(11, with_delay, 0)),
        fq_codel=veth and _works(route, lambda: requests.add_shape(13, fair, 0)),
        openvswitch=loaded,
    )


def _works(route: socket.socket, batch: Callable[[], bytes]) -> bool:
    try:
        netlink.send(route, batch(), "probe")
    except OSError:
        return False
    return True


def congestion_is_there(name: str, proc: Path = Path("/proc"), lib: Path = Path("/lib")) -> bool:
    """Tell whether this kernel has a congestion control, or can load it."""
    try:
        loaded = (proc / "sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    except OSError:
        loaded = []
    modules = lib / "modules" / os.uname().release
    return name in loaded or any(modules.glob(f"kernel/net/ipv4/tcp_{name}.ko*"))
