"""The emulated network of a plan: Mininet, built with the classes of netem.mininet_parts."""

import resource
from typing import Any

from mininet.net import Mininet

from contracts.links import LinkSpec
from contracts.plan import Plan
from netem import counters, netlink, offload, requests, topologies
from netem.mininet_parts import (
    ForkedHost,
    NetlinkBridge,
    PreconfiguredIntf,
    ProcessMain,
    RootNamespace,
    ShapedLink,
    TrunkLink,
    namespace_settings,
)

# The depth of a link's token bucket, by clock. On the wall clock it lets a busy host catch up after
# a late timer. The virtual clock has no late timers, and a bucket of one frame is exact.
BURST_SECONDS = {"wall": 0.004, "virtual": 0.0}


class Network:
    """Builds every host, switch and link of a plan, and finds them by the plan's names.

    Every host's process runs `process_main`, which waits to be told which node to become.
    """

    def __init__(self, plan: Plan, process_main: ProcessMain) -> None:
        self.plan = plan
        Mininet.inited = True  # Mininet's own initialisation only runs commands that raise limits
        _make_room_for_descriptors(len(plan.nodes))
        self.root = RootNamespace()
        ForkedHost.process_main = staticmethod(process_main)
        self._large_packets = offload.kernel_counts_frames() and plan.has_large_packets
        ForkedHost.settings = namespace_settings(
            plan.slow_start_after_idle, plan.socket_buffer, self._large_packets
        )
        topo = topologies.build(plan.topology, plan.topology_numbers)
        self._specs = {link.name: link for link in plan.links_and_trunks}
        self._macs = _macs(plan)
        self.links: dict[str, ShapedLink] = {}
        self.mininet = Mininet(
            topo=topo,
            host=ForkedHost,
            switch=self._make_switch,
            link=self._make_link,
            intf=PreconfiguredIntf,
            controller=None,
        )
        self._add_neighbours()
        self._add_routes()
        self.mininet.start()

    def host(self, name: str) -> ForkedHost:
        """Return the host of the node with this name."""
        found: ForkedHost = self.mininet.nameToNode[name]
        return found

    def allow_large_packets(self) -> None:
        """Let packets stand for as many frames as the plan says; until now each is one frame."""
        for link in self.links.values():
            if max(link.frames) > 1:
                link.set_frames(*link.frames)

    def counters(self) -> dict[str, counters.LinkCounters]:
        """Read the bytes, packets and drops of every link so far."""
        return counters.read(self.root.socket, self.links)

    def stop(self) -> None:
        """End every host's process; their namespaces, links and queues vanish with them."""
        for host in self.mininet.hosts:
            host.terminate()

    def _make_switch(self, name: str, **parameters: Any) -> NetlinkBridge:
        return NetlinkBridge(name, root=self.root, **parameters)

    def _make_link(
        self, host: ForkedHost | NetlinkBridge, bridge: NetlinkBridge, **parameters: Any
    ) -> ShapedLink:
        spec: LinkSpec = self._specs[f"{host.name}-{bridge.name}"]
        frames = (spec.frames_up, spec.frames_down) if self._large_packets else (1, 1)
        if isinstance(host, NetlinkBridge):
            burst = BURST_SECONDS[self.plan.clock]
            link: ShapedLink = TrunkLink(host, bridge, spec.up, spec.down, burst, parameters)
            self.links[spec.name] = link
            return link
        link = ShapedLink(
            host,
            bridge,
            up=spec.up,
            down=spec.down,
            burst_seconds=BURST_SECONDS[self.plan.clock],
            address=self.plan.node(host.name).addresses[spec.network_name],
            mac=self._macs[spec.name],
            congestion=spec.congestion,
            initial_window=spec.initial_window,
            frames=frames,
            **{key: parameters[key] for key in ("port1", "port2")},
        )
        self.links[spec.name] = link
        return link

    def _add_routes(self) -> None:
        """Tell every router of a graph by which trunk it reaches the hosts at the others."""
        for router, towards in self.plan.routes.items():
            batch = b""
            for spec in self.plan.links:
                if spec.switch in towards:
                    port = self._port_towards(router, towards[spec.switch])
                    batch += requests.add_bridge_entry(port, self._macs[spec.name])
            if batch:
                netlink.send(self.root.socket, batch, f"routes of {router}")

    def _port_towards(self, router: str, neighbour: str) -> int:
        forwards = self.links.get(f"{router}-{neighbour}")
        if forwards is not None:
            return forwards.host_index
        return self.links[f"{neighbour}-{router}"].port_index

    def _add_neighbours(self) -> None:
        """Make neighbours of each node and its servers, and of the two ends of each flow."""
        known: set[frozenset[str]] = set()
        for spec in self.plan.links:
            server = self.plan.server_across(spec)
            if server is not None:
                attachment = self.plan.attachment(server, spec).name
                self.links[spec.name].add_neighbours(self.links[attachment])
                known.add(frozenset((spec.name, attachment)))
        for flow in self.plan.traffic:
            pair = frozenset((flow.first_link, flow.last_link))
            if pair not in known:
                one, other = sorted(pair)
                self.links[one].add_neighbours(self.links[other])
                known.add(pair)


def _make_room_for_descriptors(hosts: int) -> None:
    """Raise the limit of open files, for us and for the nodes, which inherit it.

    We have a control and a netlink socket for each host; a server node has one for each peer.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * hosts + 256
    if soft < needed:
        enough = hard == resource.RLIM_INFINITY or hard >= needed
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard if enough else needed))


def _macs(plan: Plan) -> dict[str, str]:
    """Number the links' locally administered MAC addresses, so that two runs have the same."""
    return {
        link.name: "02:4d:00:" + ":".join(f"{byte:02x}" for byte in number.to_bytes(3, "big"))
        for number, link in enumerate(plan.links, start=1)
    }
