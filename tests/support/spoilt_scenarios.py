"""Scenarios with one thing changed, and the sentences with which they are refused."""

from typing import Any

import pytest

from contracts.errors import BadInput
from scenarios import loader
from tests.support.scenario_trees import tree_scenario


def refusal_of(tree: dict[str, Any]) -> str:
    with pytest.raises(BadInput) as caught:
        loader.check(tree)
    return _one_sentence(caught.value)


def refusal_of_loading(name: str, **arguments: Any) -> str:
    with pytest.raises(BadInput) as caught:
        loader.load(name, **arguments)
    return _one_sentence(caught.value)


def _one_sentence(error: BadInput) -> str:
    sentence = str(error)
    assert "\n" not in sentence
    assert ": " in sentence, "no place is named"
    return sentence


def changed(section: str, **values: Any) -> dict[str, Any]:
    tree = tree_scenario()
    return tree_scenario(**{section: {**tree[section], **values}})


def link(**values: Any) -> dict[str, Any]:
    return changed("links", **{"edge-cloud": values})
