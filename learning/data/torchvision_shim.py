"""Imports torchvision also where its compiled operators do not fit the installed torch.

The wheel registers fake kernels for two operators that its compiled library defines; beside a torch
of another build (CPU torch with the ordinary wheel) that library does not load and the import fails
though the data sets need no operator at all. Declaring the two schemas lets the import through.
"""

import importlib
from types import ModuleType
from typing import Any

import torch

_SCHEMAS = {
    name: f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    for name in ("nms", "qnms")
}
_library: Any = None  # torch forgets the schemas when the Library object dies


def import_torchvision() -> ModuleType:
    """The torchvision package; ImportError when it is not installed."""
    global _library
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if _library is not None or "torchvision::" not in str(error):
            raise
    _library = torch.library.Library("torchvision", "FRAGMENT")
    for name, schema in _SCHEMAS.items():
        if not hasattr(torch.ops.torchvision, name):
            _library.define(schema)
    return importlib.import_module("torchvision")
