"""A method as the rest of the project sees it: the contents of its module, checked and typed."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.errors import BadInput
from protocols import base, streaming
from protocols.costs import StepCosts
from protocols.local_rules import LocalRule


@dataclass(frozen=True)
class Method:
    """One method, built once from its module; docs/protocols.md says what a module defines."""

    name: str  # as in scenarios
    Settings: type[Any]  # a dataclass: the method's keys in [protocol]
    Server: type[base.Server]
    Client: type[base.Client]
    Edge: type[base.Server]  # the cloud's `Server`, unless the method defines an Edge
    needs_cloud: bool | None  # True: needs one; False: has no use for one; None: takes either
    hears_all_cells: bool  # where cells overlap, a client takes part in all of them
    star_only: bool  # only for topologies with clients directly below the cloud
    needs_server_data: bool  # the server trains on samples of its own, or shares them
    sends_server_data: bool  # the server's samples cross the network
    trains_alone: bool  # clients train without any server
    sends_changes: bool  # updates are changes of the model that they answer, not models
    streams: bool  # without rounds: the server takes updates one by one
    local_rule: Callable[[dict[str, Any]], LocalRule] | None  # makes the rule from its settings
    extra_flops: Callable[[StepCosts], Sequence[float]]  # of local steps beyond SGD, as a cycle

    @classmethod
    def of_module(cls, name: str, module: Any) -> "Method":
        """Build what a module, or a class in its place, defines; BadInput names what it lacks."""
        _check(name, module)
        return cls(
            name=name,
            Settings=module.Settings,
            Server=module.Server,
            Client=module.Client,
            Edge=getattr(module, "Edge", module.Server),
            needs_cloud=getattr(module, "CLOUD", None),
            hears_all_cells=getattr(module, "HEARS_ALL_CELLS", False),
            star_only=getattr(module, "STAR_ONLY", False),
            needs_server_data=getattr(module, "NEEDS_SERVER_DATA", False),
            sends_server_data=getattr(module, "SENDS_SERVER_DATA", False),
            trains_alone=getattr(module, "ALONE", False),
            sends_changes=getattr(module, "SENDS_CHANGES", False),
            streams=issubclass(module.Server, streaming.Server),
            local_rule=getattr(module, "LocalRule", None),
            extra_flops=getattr(module, "extra_flops", _nothing_extra),
        )

    @property
    def selects(self) -> bool:
        """Whether it decides itself which clients take part in a round."""
        return any(one.select is not base.Server.select for one in (self.Server, self.Edge))

    def missing_step(self) -> str | None:
        """Return what a round would lack, and what to do about it; None if nothing."""
        if self.Client.work is base.Client.work and self.Client.jobs is base.Client.jobs:
            return "its Client trains nothing; define work(package)"
        needed = () if self.trains_alone else ("outgoing", "add", "finish")
        for server in (self.Server, self.Edge):
            for step in needed:
                if getattr(server, step) is getattr(base.Server, step):
                    return f"{server.__name__} has no {step}; define it (docs/protocols.md)"
        return None

    def make_local_rule(self, settings: dict[str, Any]) -> LocalRule:
        """Make the rule by which this method changes the steps of one local training."""
        if self.local_rule is None:
            raise ValueError(f"protocol {self.name} defines no LocalRule, and a task names it")
        return self.local_rule(settings)


def _nothing_extra(_costs: StepCosts) -> Sequence[float]:
    """Return the extra cost of a local step that is plain SGD: none."""
    return ()


def _check(name: str, module: Any) -> None:
    origin = getattr(module, "__name__", repr(module))
    missing = [part for part in ("Settings", "Server", "Client") if not hasattr(module, part)]
    if missing:
        raise BadInput(
            f'protocol "{name}": module {origin} defines no {" and no ".join(missing)}; '
            "add it (docs/protocols.md)"
        )
    settings = module.Settings
    if not (isinstance(settings, type) and dataclasses.is_dataclass(settings)):
        raise BadInput(f'protocol "{name}": {origin}.Settings is no dataclass; make it one')
    if "rounds" not in {field.name for field in dataclasses.fields(settings)}:
        raise BadInput(
            f'protocol "{name}": {origin}.Settings has no field rounds; add it as an int'
        )
    for part, parent in (("Server", base.Server), ("Edge", base.Server), ("Client", base.Client)):
        found = getattr(module, part, parent)
        if not (isinstance(found, type) and issubclass(found, parent)):
            raise BadInput(
                f'protocol "{name}": {origin}.{part} is no subclass of '
                f"protocols.base.{parent.__name__}; derive it from that"
            )
