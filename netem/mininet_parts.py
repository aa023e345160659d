"""Mininet's own nouns, configured over netlink instead of some 25 commands a host.

A host is a process forked from this one, in a network namespace of its own, waiting to be told
which node to become. Its shell starts on the first `cmd`, so that Mininet's CLI and habits work.
"""

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mininet.link import Intf, Link
from mininet.node import Host, Node, Switch

from contracts.links import Shape
from netem import netlink, requests, syscalls

LOOPBACK = 1  # interface indices are ours to choose: lo is 1, a host's first link 2, and so on
_FIRST_INDEX = 2
PREFIX = 16  # every switch is one network of that length

Life = Callable[[str, socket.socket], None]


class NetlinkNode:
    """What hosts and switches share: no shell until somebody asks for one."""

    name: str
    shell: Any
    pid: int
    inNamespace: bool
    netlink: socket.socket

    def cmd(self, *args: Any, **kwargs: Any) -> Any:
        """Mininet's `cmd`; the first one starts the shell."""
        self._ensure_shell()
        return super().cmd(*args, **kwargs)  # type: ignore[misc]

    def sendCmd(self, *args: Any, **kwargs: Any) -> Any:
        """Mininet's `sendCmd`; the first one starts the shell."""
        self._ensure_shell()
        return super().sendCmd(*args, **kwargs)  # type: ignore[misc]

    def _ensure_shell(self) -> None:
        if not self.shell:
            pid = self.pid
            # `mnexec -a PID` attaches the shell to the namespaces of the process that is the host.
            Host.startShell(self, mnopts=f"-da {pid}" if self.inNamespace else "-d")
            self.pid = pid

    def _popen(self, command: list[str], **parameters: Any) -> Any:
        # startShell builds one options word; split ours, and drop the "n" (a new namespace).
        if command[0] == "mnexec" and command[1].startswith("-da "):
            command = ["mnexec", "-da", str(self.pid), *command[2:]]
        return super()._popen(command, **parameters)  # type: ignore[misc]

    def terminate(self) -> None:
        """End the shell, if there ever was one."""
        if self.shell:
            super().terminate()  # type: ignore[misc]

    @classmethod
    def setup(cls) -> None:
        """No outside command is needed."""


class ForkedHost(NetlinkNode, Host):
    """A Mininet host whose process is the node itself."""

    life: Life

    def startShell(self, mnopts: str | None = None) -> None:
        """Fork the host's process and take the netlink socket of its namespace."""
        self.pid, self.control = _fork(self.name, self.life, syscalls.unshare_network)
        _, descriptors, *_ = socket.recv_fds(self.control, 1, 1)
        if not descriptors:
            raise RuntimeError(f"{self.name}: its process ended before it had a network namespace")
        self.netlink = socket.socket(fileno=descriptors[0])

    def crash(self) -> None:
        """Kill its process; namespace and links live on, held by our netlink socket."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0

    def restart(self) -> None:
        """A new process in the same namespace."""
        self.pid, self.control = self.companion(self.name, self.life)

    def companion(self, name: str, life: Life) -> tuple[int, socket.socket]:
        """One more process in the same namespace, and the line to it."""
        namespace = syscalls.namespace_of(self.netlink.fileno())
        pid, line = _fork(name, life, lambda: syscalls.enter_network(namespace), (namespace,))
        os.close(namespace)
        for descriptor in socket.recv_fds(line, 1, 1)[1]:
            os.close(descriptor)  # we have one of that namespace
        return pid, line

    def config(self, **_parameters: Any) -> dict[str, Any]:
        """Addresses come with the links; nothing is left to configure."""
        return {}

    def terminate(self) -> None:
        """End the host's process, and its shell."""
        super().terminate()
        if self.pid:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def _fork(
    name: str, life: Life, find_network: Callable[[], None], kept: tuple[int, ...] = ()
) -> tuple[int, socket.socket]:
    """A child that lives that life in the network it finds; its pid, and our end of its line."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _live(name, theirs, life, find_network, kept)
    theirs.close()
    return pid, ours


def _live(
    name: str,
    control: socket.socket,
    life: Life,
    find_network: Callable[[], None],
    kept: tuple[int, ...],
) -> None:
    """The child's whole life; never returns into Mininet's code."""
    code = 1
    try:
        _close_all_but(control.fileno(), *kept)
        syscalls.die_with_parent(signal.SIGKILL)
        syscalls.exact_timers()
        syscalls.name_process(name)
        find_network()
        prepare_namespace()
        route = netlink.open_socket()
        socket.send_fds(control, [b"."], [route.fileno()])
        route.close()
        life(name, control)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _close_all_but(*kept: int) -> None:
    """Every descriptor above the standard ones except these."""
    first = 3
    for descriptor in sorted(kept):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, max(65536, first + 1))


# IPv6 would only announce itself: nothing here speaks it. The windows must hold the longest
# bandwidth-delay product a profile can ask for (1 Gbit/s and 300 ms: 38 MB).
_NAMESPACE_SETTINGS = {
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
    "ipv4/tcp_rmem": "4096 131072 67108864",
    "ipv4/tcp_wmem": "4096 65536 67108864",
    "ipv4/tcp_no_metrics_save": "1",
}


def prepare_namespace() -> None:
    """Settings of the calling process's own network namespace."""
    for name, value in _NAMESPACE_SETTINGS.items():
        setting = Path("/proc/sys/net", name)
        if setting.exists():
            setting.write_text(value)


class NetlinkBridge(NetlinkNode, Switch):
    """A Linux bridge in the root namespace that knows its stations and floods nothing."""

    def __init__(self, name: str, root: "RootNamespace", **parameters: Any) -> None:
        self.root = root
        Node.__init__(self, name, inNamespace=False)  # Switch's own would run ifconfig on lo
        self.dpid, self.opts = self.defaultDpid("1"), ""
        self.listenPort = parameters.get("listenPort")
        self.controlIntf = QuietIntf("lo", self, port=0)

    def startShell(self, mnopts: str | None = None) -> None:
        """Make the bridge instead, where Mininet would start a shell."""
        self.pid = os.getpid()
        self.netlink = self.root.socket
        self.index = self.root.new_index()
        batch = requests.bridge(self.name, self.index) + requests.link_up(self.index)
        netlink.send(self.netlink, batch, f"bridge {self.name}")

    def start(self, _controllers: Any) -> None:
        """Nothing is left to start: links join the bridge as they are made."""

    def stop(self, deleteIntfs: bool = True) -> None:
        """The bridge goes with its namespace."""


class RootNamespace:
    """The namespace of the switches: its netlink socket, and interface indices to hand out."""

    def __init__(self) -> None:
        prepare_namespace()
        self.socket = netlink.open_socket()
        self._index = 100

    def new_index(self) -> int:
        """The index of the next interface."""
        self._index += 1
        return self._index


class QuietIntf(Intf):
    """An interface that its link has configured already."""

    def config(self, **_parameters: Any) -> dict[str, Any]:
        """Do nothing: the link has configured it."""
        return {}

    def setIP(self, ipstr: str, prefixLen: int | None = None) -> None:
        """Remember the address, which the link has set."""
        self.ip, self.prefixLen = ipstr, prefixLen

    def setMAC(self, macstr: str) -> None:
        """Remember the address, which the link has set."""
        self.mac = macstr

    def delete(self) -> None:
        """Interfaces go with their namespaces."""


class ShapedLink(Link):
    """A veth pair from a host to a bridge, shaped at both ends, made in two netlink batches."""

    def __init__(self, host: ForkedHost, bridge: NetlinkBridge, **parameters: Any) -> None:
        self.host, self.bridge = host, bridge
        self.up: Shape | None = parameters["up"]
        self.down: Shape | None = parameters["down"]
        self.burst_seconds: float = parameters["burst_seconds"]
        self.address: str = parameters["address"]
        self.mac: str = parameters["mac"]
        self.host_index = _FIRST_INDEX + parameters["port1"]
        self.port_index = bridge.root.new_index()
        ports = {key: parameters[key] for key in ("port1", "port2")}
        super().__init__(host, bridge, intf=QuietIntf, fast=True, **ports)
        self.intf1.setIP(self.address, PREFIX)
        self.intf1.setMAC(self.mac)

    def makeIntfPair(self, intfname1: str, intfname2: str, *_rest: Any, **_more: Any) -> None:
        """Make the pair, join it to the bridge and shape both ends."""
        port, own = self.port_index, self.host_index
        what = f"link {intfname1} - {intfname2}"
        batch = requests.veth((intfname2, port), (intfname1, own), self.mac, self.host.pid)
        batch += requests.link_up(port, master=self.bridge.index) + requests.station(port, self.mac)
        if self.down is not None:
            batch += requests.shape(port, self.down, self.burst_seconds)
        netlink.send(self.bridge.netlink, batch, what)
        batch = requests.link_up(LOOPBACK) + requests.link_up(own)
        batch += requests.address(own, self.address, PREFIX)
        if self.up is not None:
            batch += requests.shape(own, self.up, self.burst_seconds)
        netlink.send(self.host.netlink, batch, what)

    def change(self, up: Shape, down: Shape) -> None:
        """Reshape both directions in place."""
        for through, index, shape in (
            (self.host.netlink, self.host_index, up),
            (self.bridge.netlink, self.port_index, down),
        ):
            batch = requests.reshape(index, shape, self.burst_seconds)
            netlink.send(through, batch, f"change of {self.intf1}")
        self.up, self.down = up, down

    def change_part(self, up: Shape, down: Shape) -> Iterator[tuple[socket.socket, bytes]]:
        """The requests for what differs from the present shapes, to be sent by the caller."""
        ends = (
            (self.host.netlink, self.host_index, up, self.up),
            (self.bridge.netlink, self.port_index, down, self.down),
        )
        for through, index, shape, before in ends:
            if shape != before:
                yield through, requests.reshape(index, shape, self.burst_seconds, before)
        self.up, self.down = up, down

    def set_up(self, up: bool) -> None:
        """Cut the link, or bring it back; addresses and neighbours stay as they are.

        At the bridge's port: an interface set down on the host's side would lose them.
        """
        batch = requests.link_up(self.port_index) if up else requests.link_down(self.port_index)
        netlink.send(self.bridge.netlink, batch, f"{'up' if up else 'down'}: {self.intf1}")

    def introduce(self, server: "ShapedLink") -> None:
        """Permanent neighbour entries between a host and a server on the same bridge: no ARP."""
        for one, other in ((self, server), (server, self)):
            batch = requests.neighbour(one.host_index, other.address, other.mac)
            netlink.send(one.host.netlink, batch, f"neighbour {other.address} of {one.host}")
