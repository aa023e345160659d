"""Import torchvision even if its compiled operators do not match the installed torch.

The wheel registers fake kernels for two operators that its compiled library defines. With a torch
of another build (CPU torch with the ordinary wheel) that library does not load and the import
fails, although the data sets need no operator. Declaring the two schemas makes the import succeed.
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
    """Return the torchvision package; raise ImportError if it is not installed."""
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
