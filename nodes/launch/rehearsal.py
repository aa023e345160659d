"""A rehearsal of a node's start: one process goes through it before the nodes are forked.

The guest's kernel remembers which pages it wrote to (netem/guest/patches, the piece `fork-copies`)
and gives every node its own copies of them with the fork. Otherwise each node would take a page
fault for every one of them, and these were most of the time in which a large run starts.
"""

import contextlib
import os
import signal
import socket
from functools import partial

import zmq

from contracts.control import Keys, Ready, Start
from contracts.messages import Kind
from netem import netlink, requests
from nodes.control import Control
from nodes.joining import ask_to_join, welcome
from nodes.recorder import now
from nodes.transport import ClientEndpoint, ServerEndpoint
from protocols.wire import Expected

_ADDRESS = "127.0.0.1"
_PATIENCE_SECONDS = 60.0
_MESSAGE_BYTES = 1 << 20


def rehearse(encrypted: bool) -> None:
    """Hold the rehearsal; call it last before the hosts are forked."""
    from netem.mininet_parts import LOOPBACK, fork_with_network

    loopback_up = requests.set_link_up(LOOPBACK)
    pid, line, route = fork_with_network("rehearsal", partial(_play, encrypted))
    netlink.send(route, loopback_up, "loopback of the rehearsal")
    control = Control(line)
    with contextlib.suppress(ConnectionError):  # it failed: nothing is lost but time
        control.say(Start())
        control.wait_for(Ready)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    line.close()
    route.close()


def _play(encrypted: bool, _name: str, line: socket.socket) -> None:
    """Be both a server and its client, until the client has joined."""
    control = Control(line)
    control.wait_for(Start)
    keys = _keys_of_both() if encrypted else None
    server = ServerEndpoint("server", _MESSAGE_BYTES, _ignore, keys=keys)
    client = ClientEndpoint("client", "server", _ADDRESS, _MESSAGE_BYTES, _ignore, keys=keys)
    ask_to_join(client)
    server.receive(now() + _PATIENCE_SECONDS, _expecting(Kind.JOIN))
    welcome(server, "client")
    client.receive(now() + _PATIENCE_SECONDS, _expecting(Kind.WELCOME))
    control.say(Ready())
    control.wait_for(Start)


def _keys_of_both() -> Keys:
    """Make keys that a server and its only client share."""
    public, secret = (key.decode() for key in zmq.curve_keypair())
    return Keys(public, secret, servers={"server": public}, children={"client": public})


def _expecting(kind: Kind) -> Expected:
    return Expected(kinds=frozenset({kind}), max_bytes=_MESSAGE_BYTES)


def _ignore(*_refusal: object) -> None:
    pass
