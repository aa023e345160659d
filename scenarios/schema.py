"""The schema of a scenario file: its sections and their keys, types and bounds."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from scenarios import quantities
from scenarios.availability import ComingAndGoing
from scenarios.cells import cells_by_client
from scenarios.events import Event, Mobility, Traffic
from scenarios.packing import Wire
from scenarios.sections import (
    AnyLink,
    Bound,
    Count,
    Delay,
    Link,
    Rate,
    Section,
    Shared,
    Size,
    Tier,
    TierLink,
    Time,
)
from scenarios.server_data import ServerData
from scenarios.transport import Transport


def _file_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", value):
        raise ValueError(f'"{value}" cannot name a directory; use letters, digits and -')
    return value


Role = Literal["client", "edge", "cloud"]
Clock = Literal["wall", "virtual"]
BackendChoice = Literal["auto", "native", "guest"]

MOST_INSTITUTIONS = 250  # each has a network 10.N.0.0/16 of its own
MOST_CLIENTS = 4000  # Linux interface names end at 15 characters: client4000-eth0


class Task(Section):
    """What is learned, from which data, and how a client trains."""

    dataset: str
    model: str
    partition: str = "iid"
    concentration: Annotated[float, Field(gt=0)] | None = None
    labels_per_client: Count | None = None  # of partition "labels-per-client"
    samples_per_client: Count | None = None
    shared_samples: bool = False  # clients may hold the same samples
    classes: Annotated[int, Field(ge=2)] | None = None  # use only the first so many classes
    batch_size: Count = 10
    learning_rate: Annotated[float, Field(gt=0)] = 0.01
    learning_rate_decay: Annotated[float, Field(gt=0, le=1)] = 1.0  # per local round
    learning_rate_drops: list[Count] = Field(default_factory=list)  # then divided by ten
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    shuffle: bool = True
    sorted_by_class: bool = False  # the order of the samples when shuffle is off
    target_accuracy: Annotated[float, Field(gt=0, le=1)] | None = None
    evaluate_every: Count = 1  # rounds; the last one is evaluated as well
    dissimilarity_every: Count | None = None  # measure gradients every so many rounds
    rho: list[Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=lambda: [1.0], min_length=1
    )

    @model_validator(mode="after")
    def _is_sorted_to_a_purpose(self) -> "Task":
        if self.sorted_by_class and self.shuffle:
            raise ValueError(
                "sorted_by_class has no effect on shuffled batches; set shuffle = false"
            )
        return self


class Protocol(Section):
    """The method's name and rounds; its other settings are checked against its own `Settings`."""

    model_config = ConfigDict(extra="allow")
    name: str
    rounds: Count


class Overlap(Section):
    """A number of clients where these cells (numbered from 1) overlap."""

    cells: Annotated[list[Count], Field(min_length=2)]
    clients: Annotated[int, Field(ge=1, le=MOST_CLIENTS)]


# The keys of each kind of topology: those it needs, and those it may have.
_NUMBERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "tree": (("institutions", "clients_per_institution"), ()),
    "star": (("clients",), ()),
    "cells": (("cells", "alone"), ("overlap", "overlaps", "cloud")),
    "graph": (("file", "hosts"), ("clients_per_institution", "rate", "delay")),
}


class GraphHost(Section):
    """One or more hosts at a node of a graph; clients name their institution if there are any."""

    role: Role
    at: str
    count: Annotated[int, Field(ge=1, le=MOST_CLIENTS)] = 1
    parent: str | None = None


class Topology(Section):
    """Which nodes there are: `tree` (cloud, institutions, clients), `star`, `cells` or `graph`."""

    kind: Literal["tree", "star", "cells", "graph"]
    institutions: Annotated[int, Field(ge=1, le=MOST_INSTITUTIONS)] | None = None
    clients_per_institution: Count | None = None
    clients: Count | None = None
    cells: Annotated[int, Field(ge=1, le=MOST_INSTITUTIONS)] | None = None
    alone: Annotated[int, Field(ge=0, le=MOST_CLIENTS)] | None = (
        None  # clients in each cell that no other cell reaches
    )
    overlap: Annotated[int, Field(ge=0, le=MOST_CLIENTS)] | None = (
        None  # clients in the overlap of each two cells
    )
    overlaps: list[Overlap] | None = None  # further overlaps, given one by one
    cloud: bool | None = None  # whether there is a cloud above the edge servers
    file: str | None = None  # of a graph: its name or file
    rate: Rate | None = None  # of a graph's links that have none of their own
    delay: Delay | None = None  # of those whose nodes have no coordinates either
    hosts: Annotated[list[GraphHost], Field(min_length=1)] | None = None  # of a graph

    @model_validator(mode="after")
    def _has_its_numbers(self) -> "Topology":
        wanted, possible = _NUMBERS[self.kind]
        for key in {key: None for kind in _NUMBERS.values() for keys in kind for key in keys}:
            given = getattr(self, key) is not None
            if key in wanted and not given:
                raise ValueError(f'a {self.kind} needs "{key}"')
            if key not in (*wanted, *possible) and given:
                raise ValueError(f'a {self.kind} has no "{key}"; use {" and ".join(wanted)}')
        for place in self.overlaps or ():
            if max(place.cells) > (self.cells or 0) or len(set(place.cells)) < len(place.cells):
                raise ValueError(f"overlaps: {place.cells} are not different cells of {self.cells}")
        if sum(h.count for h in self.hosts or () if h.role == "cloud") != (self.kind == "graph"):
            raise ValueError('a graph needs one host with role = "cloud"')
        if self.institution_count > MOST_INSTITUTIONS:
            raise ValueError(f"{self.institution_count} institutions: {MOST_INSTITUTIONS} at most")
        if self.clients_per_institution and not self.institution_count:
            raise ValueError('clients_per_institution: there are none; add hosts of role "edge"')
        if not 0 < self.client_count <= MOST_CLIENTS:
            raise ValueError(
                f"{self.client_count} clients: give at least 1 and at most {MOST_CLIENTS}"
            )
        return self

    @property
    def client_count(self) -> int:
        """The number of clients."""
        if self.kind == "cells":
            return len(self.cells_by_client)
        beside = self.institution_count * (self.clients_per_institution or 0)
        placed = sum(host.count for host in self.hosts or () if host.role == "client")
        return (self.clients or 0) + beside + placed

    @property
    def institution_count(self) -> int:
        """The number of institutions."""
        placed = sum(host.count for host in self.hosts or () if host.role == "edge")
        return self.institutions or placed

    @property
    def client_names(self) -> list[str]:
        """The names of all clients."""
        return [f"client{number}" for number in range(1, self.client_count + 1)]

    @property
    def cells_by_client(self) -> list[tuple[int, ...]]:
        """On `cells`: for every client the cells (from 0) it is connected to, its home first."""
        overlaps = [([c - 1 for c in place.cells], place.clients) for place in self.overlaps or ()]
        return cells_by_client(self.cells or 0, self.alone or 0, self.overlap or 0, overlaps)

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles of the nodes, lowest first."""
        if self.kind == "cells" and not self.cloud:
            return ("client", "edge")
        below = self.kind == "cells" or self.institution_count
        return ("client", "edge", "cloud") if below else ("client", "cloud")

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """The tiers of the links, lowest first."""
        if "edge" not in self.roles:
            return ("client-cloud",)
        return ("client-edge", "edge-cloud") if "cloud" in self.roles else ("client-edge",)

    @property
    def shared_links(self) -> tuple[Shared, ...]:
        """What may be shaped besides: the servers' own attachments, and the air of cells."""
        edge: Shared = "cell" if self.kind == "cells" else "edge"
        names: dict[Role, Shared] = {"edge": edge, "cloud": "cloud"}
        return tuple(names[role] for role in self.roles if role in names)


class ComputingCosts(Section):
    """A device's FLOP/s, overhead per training step, and memory bandwidth for aggregation."""

    profile: str | None = None
    speed: Annotated[float, Field(gt=0, strict=False)]  # also as text: "5e12"
    overhead: Time = "0ms"
    memory: Size


class MixedDevice(ComputingCosts):
    """One kind of device in a mix, with its share of the nodes."""

    share: Annotated[float, Field(gt=0)]


class Device(Section):
    """One device, given in numbers or based on a profile, or a mix of devices."""

    profile: str | None = None
    speed: Annotated[float, Field(gt=0, strict=False)] | None = None
    overhead: Time = "0ms"
    memory: Size | None = None
    measured: bool = False  # measure speed and memory on this machine before the run
    mix: Annotated[list[MixedDevice], Field(min_length=1)] | None = None
    shared_by: Count = 1  # so many clients of one server have it together

    @model_validator(mode="after")
    def _says_what_computing_costs(self) -> "Device":
        spelled_out = self.speed is not None and self.memory is not None
        if [spelled_out, self.measured, self.mix is not None].count(True) != 1:
            raise ValueError("a device needs a profile, or speed and memory, or a mix of devices")
        if self.mix is not None and self.shared_by > 1:
            raise ValueError("clients with different devices share none; leave out shared_by")
        return self

    @property
    def kinds(self) -> list[MixedDevice]:
        """Every kind of device that a node may be given, with its share."""
        if self.mix is not None:
            return self.mix
        if self.speed is None or self.memory is None:
            raise ValueError("a measured device has no numbers before it is measured")
        alone = MixedDevice(
            profile=self.profile,
            speed=self.speed,
            overhead=self.overhead,
            memory=self.memory,
            share=1.0,
        )
        return [alone]


class Host(Section):
    """What one host has that differs from the others of its tier and role."""

    link: Link | None = None  # towards its server
    device: Device | None = None


class Limits(Section):
    """The bound of every wait, and what happens when one is reached."""

    join: Bound = "60s"
    round: Bound = "30min"
    patience: Bound | None = None  # where cells overlap: for another cell's model
    late: Literal["abort", "wait", "quorum"] = "abort"
    quorum: Annotated[float, Field(gt=0, le=1)] = 1.0
    message: Size = "512mb"

    @model_validator(mode="after")
    def _patience_ends_before_the_round(self) -> "Limits":
        if self.patience is not None and (
            quantities.seconds(self.patience) >= quantities.seconds(self.round)
        ):
            raise ValueError(
                f'patience "{self.patience}" must be less than round "{self.round}": '
                "by then the edge servers have given up; lower it, or raise round"
            )
        return self


class Compute(Section):
    """Where training is really executed: by a pool of workers on the host, or in each node."""

    trainer: Literal["auto", "pool", "inline"] = "auto"
    workers: Annotated[int, Field(ge=0, le=MOST_CLIENTS)] = 0
    remember: bool = True  # take trainings from earlier runs, and keep this run's for later ones


class Scenario(Section):
    """A whole scenario: everything that a run needs."""

    name: Annotated[str, AfterValidator(_file_name)]
    about: str = ""
    variant: str = ""  # the chosen variant and size, filled in by the loader
    size: str = ""
    clock: Clock = "wall"
    backend: BackendChoice = "auto"
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    stop: Literal["rounds", "target"] = "rounds"  # after all rounds, or once the target is reached
    further_rounds: Count = 1  # with "target": held after it was reached
    task: Task
    protocol: Protocol
    topology: Topology
    links: dict[AnyLink, TierLink]
    devices: dict[Role, Device]
    hosts: dict[str, Host] = Field(default_factory=dict)
    transport: Transport = Transport()
    wire: Wire = Wire()
    timeline: list[Event] = Field(default_factory=list)
    mobility: Mobility | None = None
    availability: ComingAndGoing | None = None
    traffic: list[Traffic] = Field(default_factory=list)
    server_data: ServerData | None = None
    limits: Limits = Limits()
    compute: Compute = Compute()
