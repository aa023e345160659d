"""What a scenario file may say: sections, keys, types and bounds."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from scenarios import quantities


def _checked_by(parse: Any) -> AfterValidator:
    """Keep the text as written, once it is known to parse."""

    def check(value: Any) -> Any:
        parse(value)
        return value

    return AfterValidator(check)


Rate = Annotated[str, _checked_by(quantities.bits_per_second)]
Time = Annotated[str | float, _checked_by(quantities.seconds)]
Share = Annotated[str | float, _checked_by(quantities.share)]
Size = Annotated[str | int, _checked_by(quantities.size_in_bytes)]
Count = Annotated[int, Field(ge=1)]
Tier = Literal["client-edge", "edge-cloud", "client-cloud"]
Role = Literal["client", "edge", "cloud"]
Clock = Literal["wall", "virtual"]
BackendChoice = Literal["auto", "native", "guest"]


class Section(BaseModel):
    """Unknown keys are mistakes, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(Section):
    """What is learned, and how one client trains."""

    dataset: str
    model: str
    partition: str = "iid"
    concentration: Annotated[float, Field(gt=0)] | None = None
    samples_per_client: Count | None = None
    batch_size: Count = 10
    learning_rate: Annotated[float, Field(gt=0)] = 0.01
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    shuffle: bool = True
    target_accuracy: Annotated[float, Field(gt=0, le=1)] | None = None


class Protocol(Section):
    """The method by name; its own settings are checked against the method's file."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str
    rounds: Count


class Topology(Section):
    """Who is there: `tree` (cloud, institutions, their clients) or `star` (cloud, clients)."""

    kind: Literal["tree", "star"]
    institutions: Annotated[int, Field(ge=1, le=250)] | None = None
    clients_per_institution: Annotated[int, Field(ge=1, le=4000)] | None = None
    clients: Annotated[int, Field(ge=1, le=4000)] | None = None

    @model_validator(mode="after")
    def _has_its_numbers(self) -> "Topology":
        wanted = {"tree": ("institutions", "clients_per_institution"), "star": ("clients",)}[self.kind]
        for key in ("institutions", "clients_per_institution", "clients"):
            given = getattr(self, key) is not None
            if key in wanted and not given:
                raise ValueError(f'a {self.kind} needs "{key}"')
            if key not in wanted and given:
                raise ValueError(f'a {self.kind} has no "{key}"; use {" and ".join(wanted)}')
        return self

    @property
    def tiers(self) -> tuple[Tier, ...]:
        return ("client-edge", "edge-cloud") if self.kind == "tree" else ("client-cloud",)

    @property
    def roles(self) -> tuple[Role, ...]:
        return ("client", "edge", "cloud") if self.kind == "tree" else ("client", "cloud")


class Link(Section):
    """A link spelled out, on top of a named profile when `profile` is given."""

    profile: str | None = None
    rate: Rate | None = None
    rate_up: Rate | None = None
    rate_down: Rate | None = None
    delay: Time = "0ms"
    jitter: Time = "0ms"
    loss: Share = 0.0
    queue: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _rates_agree(self) -> "Link":
        if self.rate and (self.rate_up or self.rate_down):
            raise ValueError("give either rate, or rate_up and rate_down")
        if bool(self.rate_up) != bool(self.rate_down):
            raise ValueError("rate_up and rate_down belong together (or give rate)")
        if quantities.seconds(self.jitter) > quantities.seconds(self.delay):
            raise ValueError("jitter must not exceed delay")
        return self


class Device(Section):
    """A device spelled out, on top of a named profile when `profile` is given."""

    profile: str | None = None
    speed: Annotated[float, Field(gt=0)]
    overhead: Time = "0ms"
    memory: Size


class Limits(Section):
    """The bound of every wait, and what happens when it is reached."""

    join: Time = "60s"
    round: Time = "30min"
    late: Literal["abort", "wait", "quorum"] = "abort"
    quorum: Annotated[float, Field(gt=0, le=1)] = 1.0
    message: Size = "512mb"


class Compute(Section):
    """Where training really happens: a pool of workers on the host, or inside each node."""

    trainer: Literal["auto", "pool", "inline"] = "auto"
    workers: Annotated[int, Field(ge=0)] = 0


class Scenario(Section):
    """One TOML file: everything a run needs."""

    name: str
    about: str = ""
    clock: Clock = "wall"
    backend: BackendChoice = "auto"
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    task: Task
    protocol: Protocol
    topology: Topology
    links: dict[Tier, Link]
    devices: dict[Role, Device]
    limits: Limits = Limits()
    compute: Compute = Compute()
