"""Our codec, torch's and Flower's on the same models, in turns. Runs in Flower's environment.

python -m benchmarks.peers.codec
"""

from collections.abc import Mapping
from typing import cast

import torch
from flwr.app import ArrayRecord, RecordDict
from flwr.supercore.inflatable import inflatable_object, inflatable_utils

from benchmarks.wire_cost import measure, modules, wire, with_torch


def with_flower(tensors: Mapping[str, torch.Tensor]) -> None:
    """Take a model apart into the objects that Flower sends, and put it together again."""
    content = RecordDict({"arrays": ArrayRecord(dict(tensors))})
    with inflatable_object.no_object_id_recompute():
        objects = inflatable_object.get_all_nested_objects(content)
        sent = {name: one.deflate() for name, one in objects.items()}
        # The SuperLink makes sure that each object is what its name says.
        for name, data in sent.items():
            assert inflatable_object.get_object_id(data) == name
        whole = inflatable_utils.inflate_object_from_contents(content.object_id, sent)
    cast(RecordDict, whole).array_records["arrays"].to_torch_state_dict()


if __name__ == "__main__":
    print("parameters       ours  torch.save+load     Flower   (ms, encode and decode)")
    for module in modules():
        parameters, taken = measure(module, [wire, with_torch, with_flower])
        ours, torchs, flowers = (1e3 * each for each in taken)
        print(f"{parameters:10,} {ours:10.3f} {torchs:16.3f} {flowers:10.3f}", end="   ")
        print(f"torch {torchs / ours:.0f} times ours, Flower {flowers / ours:.0f} times")
