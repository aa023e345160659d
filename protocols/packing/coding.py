"""Tensors made smaller, and back: half precision, eight bits, and the largest entries only.

`pack` makes new names from old ones, which say how to undo it: "w@half" and "w@byte" hold values,
"w@at" the places of those that were kept; "@scales" holds a factor for each "@byte", in order.
Only float32 tensors are packed. All rounding is to the nearest value.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import ceil, prod
from typing import Any, Literal

import numpy as np

from protocols.base import Shapes, Tensors
from protocols.wire.message import Refused

_HALF, _BYTE, _AT, SCALES = "@half", "@byte", "@at", "@scales"
_LARGEST_HALF = 65504.0
_ZERO = 128  # stands for 0 among bytes
_LARGEST_SCALE = float(np.finfo(np.float32).max) / 256

Values = Literal["fp32", "fp16", "int8"]


@dataclass(frozen=True)
class Coding:
    """One way of packing: the values' type, and which share of the entries is kept."""

    values: Values = "fp32"
    share: float | None = None  # None: all entries

    @classmethod
    def parse(cls, text: str) -> "Coding":
        """Read "int8", "topk:0.01+fp16" and the like; ValueError says what is wrong."""
        values: Values | None = None
        share: float | None = None
        for part in text.split("+"):
            word, colon, number = part.strip().partition(":")
            if word in ("fp32", "fp16", "int8") and not colon:
                if values is not None:
                    raise ValueError(f'"{text}" names two types of values; leave one out')
                values = word  # type: ignore[assignment]
            elif word == "topk" and share is None:
                share = _share(number, text)
            else:
                raise ValueError(
                    f'"{text}" is no packing; give fp32, fp16, int8, topk:SHARE (like topk:0.01), '
                    "or topk:SHARE+fp16 and the like"
                )
        return cls(values or "fp32", share)

    @property
    def is_identity(self) -> bool:
        """Whether nothing changes."""
        return self.values == "fp32" and self.share is None

    @property
    def passes(self) -> int:
        """How often packing or unpacking goes through a tensor's memory."""
        return (self.values != "fp32") + (self.share is not None)

    def kept(self, size: int) -> int:
        """Return how many of so many entries are sent; all, if their places would cost more."""
        if self.share is None:
            return size
        count = max(1, ceil(self.share * size - 1e-9)) if size else 0
        width = {"fp32": 4, "fp16": 2, "int8": 1}[self.values]
        return count if count * (4 + width) < size * width else size

    def packed_shapes(self, shapes: Shapes, changes: Collection[str]) -> Shapes:
        """Return what `pack` makes of tensors with these types and shapes."""
        made: dict[str, tuple[str, tuple[int, ...]]] = {}
        factors = 0
        for name, (dtype, shape) in shapes.items():
            if dtype != "float32":
                made[name] = dtype, shape
                continue
            size = prod(shape)
            count = self.kept(size) if name in changes else size
            if count < size:
                made[name + _AT] = "int32", (count,)
                shape = (count,)
            ending, kind = _ENDINGS[self.values]
            made[name + ending] = kind, shape
            factors += self.values == "int8"
        if factors:
            made[SCALES] = "float32", (factors,)
        return made

    def pack(self, tensors: Tensors, changes: Collection[str]) -> Tensors:
        """Return these tensors packed; only those named in `changes` may lose entries."""
        made: Tensors = {}
        scales: list[float] = []
        for name, tensor in tensors.items():
            if tensor.dtype != np.float32:
                made[name] = tensor
                continue
            values = tensor
            if name in changes and self.kept(tensor.size) < tensor.size:
                places = _largest(tensor.reshape(-1), self.kept(tensor.size))
                made[name + _AT] = places
                values = tensor.reshape(-1)[places]
            made[name + _ENDINGS[self.values][0]] = self._coded(values, scales)
        if scales:
            made[SCALES] = np.array(scales, np.float32)
        return made

    def _coded(self, values: np.ndarray, scales: list[float]) -> np.ndarray:
        coded = values
        if self.values == "fp16":
            coded = np.clip(values, -_LARGEST_HALF, _LARGEST_HALF).astype(np.float16)
        if self.values == "int8":
            largest = float(np.abs(values).max(initial=0.0))
            scales.append(min(float(np.float32(largest / 127)), _LARGEST_SCALE) or 1.0)
            steps = np.rint(values / np.float32(scales[-1]))
            coded = (np.clip(steps, -127, 127) + _ZERO).astype(np.uint8)
        return coded


_ENDINGS: dict[Values, tuple[str, str]] = {
    "fp32": ("", "float32"),
    "fp16": (_HALF, "float16"),
    "int8": (_BYTE, "uint8"),
}


def unpack(packed: Tensors, shapes: Mapping[str, tuple[int, ...]]) -> Tensors:
    """Undo `pack`; raise Refused for what it cannot have made.

    `shapes` are those of the tensors that may have lost entries.
    """
    scales = iter(packed.get(SCALES, ()))
    made: Tensors = {}
    for name, tensor in packed.items():
        if name == SCALES or name.endswith(_AT):
            continue
        plain, values = _decoded(name, tensor, scales)
        places = packed.get(plain + _AT)
        made[plain] = values if places is None else _spread(plain, values, places, shapes)
    if next(scales, None) is not None or sum(n.endswith(_AT) for n in packed) > len(made):
        raise Refused("malformed", "a packed message has parts that belong to nothing")
    return made


def _decoded(name: str, tensor: np.ndarray, scales: Iterator[Any]) -> tuple[str, np.ndarray]:
    if name.endswith(_HALF) and tensor.dtype == np.float16:
        return name.removesuffix(_HALF), tensor.astype(np.float32)
    if name.endswith(_BYTE) and tensor.dtype == np.uint8:
        scale = next(scales, None)
        if scale is None or not 0 < scale <= _LARGEST_SCALE:
            raise Refused("malformed", f"{name} has no scale above 0 that keeps it finite")
        return name.removesuffix(_BYTE), (tensor.astype(np.float32) - _ZERO) * np.float32(scale)
    return name, tensor


def _largest(flat: np.ndarray, count: int) -> np.ndarray:
    """Return the places of the largest entries by amount, in ascending order."""
    places = np.argpartition(np.abs(flat), flat.size - count)[flat.size - count :]
    return np.sort(places).astype(np.int32)


def _spread(
    name: str, values: np.ndarray, places: np.ndarray, shapes: Mapping[str, tuple[int, ...]]
) -> np.ndarray:
    """Put values back in their places, with zeros between them."""
    if name not in shapes or places.dtype != np.int32 or places.shape != values.shape:
        raise Refused("malformed", f"{name} has entries without places")
    whole = np.zeros(prod(shapes[name]), np.float32)
    ascending = places.ndim == 1 and bool((np.diff(places) > 0).all())
    if not ascending or (places.size and (places[0] < 0 or places[-1] >= whole.size)):
        raise Refused("malformed", f"{name} has entries in places that it does not have")
    whole[places] = values
    return whole.reshape(shapes[name])


def _share(number: str, text: str) -> float:
    try:
        share = float(number)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ValueError(f'"{text}": topk needs a share above 0 and at most 1, like topk:0.01')
    return share
