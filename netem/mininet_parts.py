"""Mininet's hosts, switches and links, configured over netlink instead of by some 25 commands each.

A host is a process forked from this one, in a network namespace of its own, which waits to be told
which node to become. Its shell starts on the first `cmd`, so that Mininet's CLI works as usual.
"""

import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from mininet.link import Intf, Link
from mininet.node import Host, Node, Switch

from contracts.links import LONGEST_INTERFACE_NAME, Shape
from netem import netlink, offload, requests, syscalls
from netem.child_process import fork_to

LOOPBACK = 1  # we choose the interface indices: lo is 1, a host's first link 2, and so on
_FIRST_INDEX = 2
PREFIX = 16  # the prefix length of a switch's network

# What a forked process runs; it is given its name and its end of a socket to us.
ProcessMain = Callable[[str, socket.socket], None]


class NetlinkNode:
    """What hosts and switches have in common: they start no shell until one is needed."""

    name: str
    shell: Any
    pid: int
    inNamespace: bool
    netlink: socket.socket

    def cmd(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command as Mininet's `cmd` does; the first call starts the shell."""
        self._ensure_shell()
        return super().cmd(*args, **kwargs)  # type: ignore[misc]

    def sendCmd(self, *args: Any, **kwargs: Any) -> Any:
        """Send a command as Mininet's `sendCmd` does; the first call starts the shell."""
        self._ensure_shell()
        return super().sendCmd(*args, **kwargs)  # type: ignore[misc]

    def _ensure_shell(self) -> None:
        if not self.shell:
            pid = self.pid
            # `mnexec -a PID` attaches the shell to the namespaces of the process that is the host.
            Host.startShell(self, mnopts=f"-da {pid}" if self.inNamespace else "-d")
            self.pid = pid

    def _popen(self, command: list[str], **parameters: Any) -> Any:
        # startShell makes one word of the options; split ours, and drop the "n" (a new namespace).
        if command[0] == "mnexec" and command[1].startswith("-da "):
            command = ["mnexec", "-da", str(self.pid), *command[2:]]
        return super()._popen(command, **parameters)  # type: ignore[misc]

    def terminate(self) -> None:
        """End the shell, if one was started."""
        if self.shell:
            super().terminate()  # type: ignore[misc]

    @classmethod
    def setup(cls) -> None:
        """Do nothing: Mininet would look for commands here, and we need none."""


class ForkedHost(NetlinkNode, Host):
    """A Mininet host whose process is the node itself; `process_main` is what the process runs."""

    process_main: ProcessMain
    settings: ClassVar[dict[str, str]] = {}  # of its namespace, beside those that all have

    def startShell(self, mnopts: str | None = None) -> None:
        """Fork the host's process and receive the netlink socket that it opens in its namespace."""
        self.pid, self.control, self.netlink = fork_with_network(self.name, self.process_main)

    def crash(self) -> None:
        """Kill the host's process. Our netlink socket keeps its namespace and links alive."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0

    def restart(self) -> None:
        """Start a new process for the host, in the same namespace."""
        self.pid, self.control = self.fork_process(self.name, self.process_main)

    def fork_process(self, name: str, process_main: ProcessMain) -> tuple[int, socket.socket]:
        """Fork a process into the host's namespace; return its id and our socket to it."""
        namespace = syscalls.namespace_of(self.netlink.fileno())
        enter = partial(syscalls.enter_network, namespace)
        pid, line = _fork(name, process_main, enter, (namespace,))
        os.close(namespace)
        for descriptor in socket.recv_fds(line, 1, 1)[1]:
            os.close(descriptor)  # we have a netlink socket of that namespace already
        return pid, line

    def config(self, **_parameters: Any) -> dict[str, Any]:
        """Do nothing: addresses come with the links."""
        return {}

    def terminate(self) -> None:
        """End the host's shell and its process."""
        super().terminate()
        if self.pid:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def fork_with_network(
    name: str, process_main: ProcessMain
) -> tuple[int, socket.socket, socket.socket]:
    """Fork a process with a network of its own; return its id, our socket to it, its netlink."""
    pid, line = _fork(name, process_main, syscalls.unshare_network)
    _, descriptors, *_ = socket.recv_fds(line, 1, 1)
    if not descriptors:
        raise RuntimeError(f"{name}: its process ended before it had a network namespace")
    return pid, line, socket.socket(fileno=descriptors[0])


def _fork(
    name: str,
    process_main: ProcessMain,
    enter_namespace: Callable[[], None],
    kept: tuple[int, ...] = (),
) -> tuple[int, socket.socket]:
    """Fork a child that enters a namespace and runs `process_main`; return its id and our socket.

    The child keeps no descriptors but its own socket, the standard ones and those in `kept`.
    """
    ours, theirs = socket.socketpair()
    pid = fork_to(partial(_run_child, name, theirs, process_main, enter_namespace, kept))
    theirs.close()
    return pid, ours


def _run_child(
    name: str,
    control: socket.socket,
    process_main: ProcessMain,
    enter_namespace: Callable[[], None],
    kept: tuple[int, ...],
) -> None:
    """Do all that a forked child does."""
    _close_all_but(control.fileno(), *kept)
    syscalls.die_with_parent(signal.SIGKILL)
    syscalls.disable_timer_slack()
    syscalls.set_process_name(name)
    enter_namespace()
    prepare_namespace(ForkedHost.settings)
    route = netlink.open_socket()
    socket.send_fds(control, [b"."], [route.fileno()])
    route.close()
    process_main(name, control)


def _close_all_but(*kept: int) -> None:
    """Close every descriptor above the standard ones except these."""
    first = 3
    for descriptor in sorted(kept):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, max(65536, first + 1))


# Nothing here uses IPv6, which would only send announcements. TCP's windows have to hold the
# largest bandwidth-delay product that a profile can ask for (1 Gbit/s and 300 ms: 38 MB).
_NAMESPACE_SETTINGS = {
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
    "ipv4/tcp_rmem": "4096 131072 67108864",
    "ipv4/tcp_wmem": "4096 65536 67108864",
    "ipv4/tcp_no_metrics_save": "1",
}


def namespace_settings(
    slow_start_after_idle: bool, buffer: int | None, large_packets: bool = False
) -> dict[str, str]:
    """Return the settings that make TCP behave so, by their names below /proc/sys/net."""
    settings = dict(offload.TCP_SETTINGS) if large_packets else {}
    if not slow_start_after_idle:
        settings["ipv4/tcp_slow_start_after_idle"] = "0"
    if buffer is not None:
        settings["ipv4/tcp_rmem"] = f"4096 {min(buffer, 131072)} {buffer}"
        settings["ipv4/tcp_wmem"] = f"4096 {min(buffer, 65536)} {buffer}"
    return settings


def prepare_namespace(more: Mapping[str, str] | None = None) -> None:
    """Apply our settings, and these, to the network namespace of the calling process."""
    for name, value in (_NAMESPACE_SETTINGS | dict(more or {})).items():
        setting = Path("/proc/sys/net", name)
        if setting.exists():
            setting.write_text(value)


class NetlinkBridge(NetlinkNode, Switch):
    """A Linux bridge in the root namespace; it is told where every host is and floods nothing."""

    def __init__(self, name: str, root: "RootNamespace", **parameters: Any) -> None:
        self.root = root
        Node.__init__(self, name, inNamespace=False)  # Switch's own would run ifconfig on lo
        self.dpid, self.opts = self.defaultDpid("1"), ""
        self.listenPort = parameters.get("listenPort")
        self.controlIntf = PreconfiguredIntf("lo", self, port=0)

    def startShell(self, mnopts: str | None = None) -> None:
        """Create the bridge, at the point where Mininet would start a shell."""
        self.pid = os.getpid()
        self.netlink = self.root.socket
        self.index = self.root.new_index()
        batch = requests.create_bridge(self.name, self.index) + requests.set_link_up(self.index)
        netlink.send(self.netlink, batch, f"bridge {self.name}")

    def start(self, _controllers: Any) -> None:
        """Do nothing: links join the bridge as they are made."""

    def stop(self, deleteIntfs: bool = True) -> None:
        """Do nothing: the bridge vanishes with its namespace."""


class RootNamespace:
    """The namespace of the switches: its netlink socket, and the next free interface index."""

    def __init__(self) -> None:
        prepare_namespace()
        self.socket = netlink.open_socket()
        self._index = 100

    def new_index(self) -> int:
        """Return an interface index that is not in use yet."""
        self._index += 1
        return self._index


class PreconfiguredIntf(Intf):
    """A Mininet interface that ShapedLink has configured over netlink already."""

    def config(self, **_parameters: Any) -> dict[str, Any]:
        """Do nothing: the link has configured the interface."""
        return {}

    def setIP(self, ipstr: str, prefixLen: int | None = None) -> None:
        """Remember the IP address; the link has set it."""
        self.ip, self.prefixLen = ipstr, prefixLen

    def setMAC(self, macstr: str) -> None:
        """Remember the MAC address; the link has set it."""
        self.mac = macstr

    def delete(self) -> None:
        """Do nothing: interfaces vanish with their namespaces."""


class ShapedLink(Link):
    """A veth pair from a host to a bridge, shaped at both ends.

    It takes two netlink batches to make: one in each end's namespace.
    """

    host: ForkedHost | NetlinkBridge
    host_index: int
    port_index: int
    address: str
    mac: str

    def __init__(self, host: ForkedHost, bridge: NetlinkBridge, **parameters: Any) -> None:
        self.host, self.bridge = host, bridge
        self.up: Shape | None = parameters["up"]
        self.down: Shape | None = parameters["down"]
        self.burst_seconds: float = parameters["burst_seconds"]
        self.address: str = parameters["address"]
        self.mac: str = parameters["mac"]
        self.congestion: str | None = parameters["congestion"]
        self.initial_window: int | None = parameters["initial_window"]
        self.frames: tuple[int, int] = parameters["frames"]
        self.host_index = _FIRST_INDEX + parameters["port1"]
        self.port_index = bridge.root.new_index()
        ports = {key: parameters[key] for key in ("port1", "port2")}
        super().__init__(host, bridge, intf=PreconfiguredIntf, fast=True, **ports)
        self.intf1.setIP(self.address, PREFIX)
        self.intf1.setMAC(self.mac)

    def intfName(self, node: Node, port: int) -> str:
        """Name an interface as Mininet does, or by its index where Linux would not take that."""
        name = f"{node.name}-eth{port}"
        return name if len(name) <= LONGEST_INTERFACE_NAME else f"port{self.port_index}"

    def makeIntfPair(self, intfname1: str, intfname2: str, *_rest: Any, **_more: Any) -> None:
        """Create the pair, join it to the bridge and shape both ends."""
        port, own = self.port_index, self.host_index
        purpose = f"link {intfname1} - {intfname2}"
        batch = requests.create_veth((intfname2, port), (intfname1, own), self.mac, self.host.pid)
        batch += requests.set_link_up(port, master=self.bridge.index)
        batch += requests.add_bridge_entry(port, self.mac)
        if self.down is not None:
            batch += requests.add_shape(port, self.down, self.burst_seconds, self.frames[1])
        netlink.send(self.bridge.netlink, batch, purpose)
        batch = requests.set_link_up(LOOPBACK) + requests.set_link_up(own)
        batch += requests.add_address(own, self.address, PREFIX)
        if self.congestion is not None or self.initial_window is not None:
            tuned = self.congestion, self.initial_window
            batch += requests.tune_route(own, self.address, PREFIX, *tuned)
        if self.up is not None:
            batch += requests.add_shape(own, self.up, self.burst_seconds, self.frames[0])
        netlink.send(self.host.netlink, batch, purpose)

    def change(self, up: Shape, down: Shape) -> None:
        """Give both directions a new shape, in place: what is queued stays queued."""
        for through, index, shape, frames in (
            (self.host.netlink, self.host_index, up, self.frames[0]),
            (self.bridge.netlink, self.port_index, down, self.frames[1]),
        ):
            batch = requests.change_shape(index, shape, self.burst_seconds, frames)
            netlink.send(through, batch, f"change of {self.intf1}")
        self.up, self.down = up, down

    def requests_to_change(self, up: Shape, down: Shape) -> Iterator[tuple[socket.socket, bytes]]:
        """Yield the requests for what differs from the present shapes, and the sockets to use.

        The caller sends them, so that the changes of many links can share a batch.
        """
        ends = (
            (self.host.netlink, self.host_index, up, self.up, self.frames[0]),
            (self.bridge.netlink, self.port_index, down, self.down, self.frames[1]),
        )
        for through, index, shape, before, frames in ends:
            if shape != before:
                yield (
                    through,
                    requests.change_shape(index, shape, self.burst_seconds, frames, before),
                )
        self.up, self.down = up, down

    def set_frames(self, up: int, down: int) -> None:
        """Let packets stand for up to so many frames, on connections that are made from now on."""
        for through, index, frames in (
            (self.host.netlink, self.host_index, up),
            (self.bridge.netlink, self.port_index, down),
        ):
            netlink.send(through, requests.set_frames(index, frames), f"frames of {self.intf1}")

    def set_enabled(self, enabled: bool) -> None:
        """Bring the link up, or cut it; addresses and neighbours stay as they are.

        This is done at the bridge's port: an interface set down on the host's side would lose them.
        """
        port = self.port_index
        batch = requests.set_link_up(port) if enabled else requests.set_link_down(port)
        netlink.send(self.bridge.netlink, batch, f"{'up' if enabled else 'down'}: {self.intf1}")

    def add_neighbours(self, server: "ShapedLink") -> None:
        """Make this host and a server on the same bridge permanent neighbours: they need no ARP."""
        for one, other in ((self, server), (server, self)):
            batch = requests.add_neighbour(one.host_index, other.address, other.mac)
            netlink.send(one.host.netlink, batch, f"neighbour {other.address} of {one.host}")


class TrunkLink(ShapedLink):
    """A veth pair between two bridges of the root namespace, shaped at both ends."""

    def __init__(
        self,
        first: NetlinkBridge,
        second: NetlinkBridge,
        up: Shape | None,
        down: Shape | None,
        burst_seconds: float,
        parameters: Mapping[str, Any],
    ) -> None:
        self.host, self.bridge = first, second
        self.up, self.down, self.burst_seconds, self.frames = up, down, burst_seconds, (1, 1)
        self.host_index, self.port_index = first.root.new_index(), second.root.new_index()
        ports = {key: parameters[key] for key in ("port1", "port2")}
        Link.__init__(self, first, second, intf=PreconfiguredIntf, fast=True, **ports)

    def intfName(self, node: Node, _port: int) -> str:
        """Name a port by its index: Linux's names are too short for those of cities."""
        return f"trunk{self.host_index if node is self.host else self.port_index}"

    def makeIntfPair(self, intfname1: str, intfname2: str, *_rest: Any, **_more: Any) -> None:
        """Create the pair, join an end to each bridge and shape both."""
        ends = (intfname2, self.port_index), (intfname1, self.host_index)
        mac = "02:4d:ff:" + ":".join(f"{byte:02x}" for byte in self.port_index.to_bytes(3, "big"))
        batch = requests.create_veth(*ends, mac, os.getpid())
        batch += requests.set_link_up(self.port_index, master=self.bridge.index)
        batch += requests.set_link_up(self.host_index, master=self.host.index)
        for index, shape in ((self.host_index, self.up), (self.port_index, self.down)):
            if shape is not None:
                batch += requests.add_shape(index, shape, self.burst_seconds)
        netlink.send(self.bridge.netlink, batch, f"trunk {self.host} - {self.bridge}")
