"""Both ends of a line on which messages are packed ([wire]; docs/packing.md).

An update is packed as a change of the model that it answers. A model is packed as it is, unless the
scenario drops entries of models: then as a change of the last one that the child was sent. Each end
therefore keeps a model, exactly as the child has it. Whatever entries an update loses are added to
the next one at the sender (error feedback: Stich, Cordonnier and Jaggi, NeurIPS 2018); what a model
lost is in the next change again.
"""

from collections.abc import Collection

import numpy as np

from protocols.base import Shapes, Tensors
from protocols.packing.coding import Coding, unpack
from protocols.wire.checks import all_finite
from protocols.wire.message import Refused

_KEPT = 2  # models that a child keeps: the newest, and one whose update may have to be sent again


class ServerEnd:
    """Packs models for a server's children and unpacks their updates.

    `model` has the names of the model's own tensors: those are sent as changes. With `of_changes`,
    the method's updates are changes already.
    """

    def __init__(self, up: Coding, down: Coding, model: Collection[str], of_changes: bool) -> None:
        self.up, self.down, self._of_changes = up, down, of_changes
        self._model = frozenset(model)
        self._sent: dict[str, tuple[int, Tensors]] = {}  # by child: local round, and what it has
        self._new: set[str] = set()  # children that joined anew and have nothing
        self._last: tuple[Tensors, Tensors, Tensors] = {}, {}, {}

    def update_shapes(self, update: Shapes) -> Shapes:
        """Return what a packed update must have."""
        return self.up.packed_shapes(update, self._model)

    def base(self, child: str) -> int | None:
        """Return the local round of the model that this child's next one is a change of."""
        if self.down.share is None or child in self._new or child not in self._sent:
            return None
        return self._sent[child][0]

    def pack(self, child: str, local_round: int, model: Tensors) -> tuple[Tensors, bool]:
        """Return a model for this child, packed, and whether that took any work."""
        base = self._sent[child][1] if self.base(child) is not None else {}
        known_model, known_base, _ = self._last
        worked = not (_same(known_model, model) and _same(known_base, base))
        if worked:
            change = _minus(model, base)
            packed = self.down.pack(change, base) if not self.down.is_identity else model
            self._last = model, base, packed
        packed = self._last[2]
        if not self.up.is_identity or self.down.share is not None:
            self._sent[child] = local_round, self._as_received(base, packed, worked)
        self._new.discard(child)
        return packed, worked

    def _as_received(self, base: Tensors, packed: Tensors, anew: bool) -> Tensors:
        """Return the model as a child has it; the same arrays for all who were sent the same."""
        if anew:
            found = packed if self.down.is_identity else _plus(unpack(packed, _shapes(base)), base)
            self._received = _only(found, self._model)
        return self._received

    def unpack(self, child: str, packed: Tensors) -> Tensors:
        """Return an update unpacked; raise Refused for what cannot be one."""
        reference = self._sent[child][1]
        update = unpack(packed, _shapes(reference))
        return _finite(update if self._of_changes else _plus(update, reference))

    def forget(self, child: str) -> None:
        """The child has joined anew, and may have nothing of what it was sent."""
        self._new.add(child)


class ChildEnd:
    """Unpacks a server's models and packs the updates that answer them."""

    def __init__(self, up: Coding, down: Coding, model: Collection[str], of_changes: bool) -> None:
        self.up, self.down, self._of_changes = up, down, of_changes
        self._model = frozenset(model)
        self._held: dict[int, Tensors] = {}  # by local round
        self._left_out: Tensors = {}  # what earlier updates have lost

    def unpack(self, local_round: int, base: int | None, packed: Tensors) -> Tensors:
        """Return a model unpacked; raise Refused if it changes one that is not here."""
        if base is not None and base not in self._held:
            raise Refused(
                "malformed", f"changes the model of local round {base}, which is not here"
            )
        before = self._held[base] if base is not None else {}
        model = packed
        if not self.down.is_identity:
            model = _finite(_plus(unpack(packed, _shapes(before)), before))
        self._held[local_round] = _only(model, self._model)
        for old in sorted(self._held)[:-_KEPT]:
            del self._held[old]
        return model

    def pack(self, local_round: int, update: Tensors) -> Tensors:
        """Return the update that answers the model of this local round, packed."""
        if self.up.is_identity:
            return update
        reference = self._held[local_round]
        change = update if self._of_changes else _minus(update, reference)
        if self.up.share is None:
            return self.up.pack(change, {})
        whole = _plus(change, self._left_out)
        packed = self.up.pack(whole, self._model)
        self._left_out = _minus(whole, unpack(packed, _shapes(reference)))
        return packed


def _shapes(tensors: Tensors) -> dict[str, tuple[int, ...]]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def _only(tensors: Tensors, names: Collection[str]) -> Tensors:
    return {name: tensor for name, tensor in tensors.items() if name in names}


def _minus(tensors: Tensors, other: Tensors) -> Tensors:
    return {n: t - other[n] if _counts(t, other.get(n)) else t for n, t in tensors.items()}


def _plus(tensors: Tensors, other: Tensors) -> Tensors:
    with np.errstate(over="ignore"):
        return {n: t + other[n] if _counts(t, other.get(n)) else t for n, t in tensors.items()}


def _counts(tensor: np.ndarray, other: np.ndarray | None) -> bool:
    """Whether two tensors are of the same name and shape, and of the type that is packed."""
    return other is not None and tensor.dtype == np.float32 and tensor.shape == other.shape


def _same(one: Tensors, other: Tensors) -> bool:
    """Whether these are the very same tensors."""
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


def _finite(tensors: Tensors) -> Tensors:
    """Return the tensors, or raise Refused if numbers have become too large."""
    with np.errstate(all="ignore"):
        for name, tensor in tensors.items():
            if tensor.dtype.kind == "f" and not all_finite(tensor.reshape(-1)):
                raise Refused("not-finite", f"{name} has values that are not finite")
    return tensors
