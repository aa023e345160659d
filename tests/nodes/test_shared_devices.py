"""Devices that several clients share: who is done when, worked out by hand."""

import socket
import threading
from typing import Any

import pytest

from contracts.control import Due, Occupy, Vacate, Word
from contracts.errors import BadInput
from nodes.control import Control
from nodes.devices import SharedDevice
from nodes.launch.shared_devices import SharedDevices
from nodes.recorder import now
from scenarios import loader
from tests.support.scenario_trees import planned, star_scenario, tree_scenario

SHARED = {"client": {"profile": "phone", "shared_by": 2}, "cloud": "droplet-1gb"}


class Heard:
    """The last moment that each node was told."""

    def __init__(self) -> None:
        self.due: dict[str, float] = {}
        self.devices = SharedDevices(
            planned(star_scenario(clients=4, devices=SHARED)), self._remember
        )

    def _remember(self, node: str, said: Word) -> None:
        assert isinstance(said, Due) and said.job == 1
        self.due[node] = said.moment


def test_two_at_once_take_twice_as_long_and_the_second_device_is_not_touched() -> None:
    heard = Heard()

    heard.devices.occupied("client1", Occupy(1, 10.0, 3.0))
    heard.devices.occupied("client2", Occupy(1, 10.0, 3.0))
    heard.devices.occupied("client3", Occupy(1, 10.0, 3.0))

    assert heard.due == {"client1": 16.0, "client2": 16.0, "client3": 13.0}


def test_who_comes_later_slows_the_other_down_from_then_on() -> None:
    heard = Heard()

    heard.devices.occupied("client1", Occupy(1, 10.0, 3.0))
    # After one second alone, two are left: shared, they take four.
    heard.devices.occupied("client2", Occupy(1, 11.0, 4.0))
    assert heard.due == {"client1": 15.0, "client2": 19.0}

    # At 15 client2 has done two of its four seconds, and does the rest alone.
    heard.devices.vacated("client1", Vacate(1, 15.0))
    assert heard.due["client2"] == 17.0


def test_a_vacate_of_an_earlier_job_frees_nothing() -> None:
    heard = Heard()
    heard.devices.occupied("client1", Occupy(1, 10.0, 3.0))
    heard.devices.occupied("client2", Occupy(1, 10.0, 3.0))

    heard.devices.vacated("client1", Vacate(0, 12.0))

    assert heard.due["client2"] == 16.0


def test_a_node_that_is_lost_leaves_its_part_to_the_others() -> None:
    heard, start = Heard(), now()
    heard.devices.occupied("client1", Occupy(1, start, 1000.0))
    heard.devices.occupied("client2", Occupy(1, start, 1000.0))

    heard.devices.lost({"client1", "cloud"})

    assert heard.due["client2"] == pytest.approx(start + 1000, abs=60)


def test_a_node_waits_until_the_moment_it_was_told_last() -> None:
    ours, theirs = map(Control, socket.socketpair())
    device = SharedDevice(ours)
    start = now()

    def launcher() -> None:
        theirs.wait_for(Occupy)
        theirs.say(Due(7, start))  # of another job
        theirs.say(Due(1, start + 30))
        theirs.say(Due(1, start + 0.2))

    other = threading.Thread(target=launcher)
    other.start()
    device.begin(start, 0.1)
    assert device.finish() == start + 0.2
    assert now() >= start + 0.2
    other.join()
    assert theirs.wait_for(Vacate) == Vacate(1, start + 0.2)


def test_the_plan_names_the_devices_of_neighbours_at_one_server() -> None:
    devices = {**SHARED, "edge": "laptop-core"}

    plan = planned(tree_scenario(devices=devices))

    names = [node.shared_device for node in plan.nodes if node.role == "client"]
    assert names[:3] == ["inst1-device1", "inst1-device1", "inst1-device2"]
    assert names[3:] == ["inst2-device1", "inst2-device1", "inst2-device2"]


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        (
            {"devices": {"client": "phone", "cloud": {"profile": "droplet-1gb", "shared_by": 2}}},
            "devices.cloud.shared_by: only clients share devices; leave it out here",
        ),
        (
            {"devices": {**SHARED, "client": {"mix": {"phone": 1.0}, "shared_by": 2}}},
            "clients with different devices share none; leave out shared_by",
        ),
        (
            {"devices": SHARED, "timeline": [{"at": "1s", "event": "crash", "node": "client1"}]},
            "devices.client.shared_by: clients that move, come and go, crash or restart have "
            "devices of their own; leave it out",
        ),
    ],
)
def test_what_cannot_be_shared_is_refused(sections: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        loader.check(star_scenario(**sections))

    assert sentence in str(caught.value)
