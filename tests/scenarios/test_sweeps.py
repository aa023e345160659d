"""From a sweep file to its runs: every variant, setting and seed, or one sentence why not."""

from pathlib import Path
from typing import Any

import pytest
import tomli_w

from contracts.errors import BadInput
from scenarios import loader, sweeps
from scenarios.expansion import SweepOptions, SweepRun, expand
from tests.support.scenario_trees import tree_scenario

VARIANTS = {"fast": {"protocol": {"local_epochs": 2}}, "slow": {"protocol": {"local_epochs": 8}}}
SIZES = {"small": {"protocol": {"rounds": 2}}, "paper": {"protocol": {"rounds": 90}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the scenarios `plain.toml` and `methods.toml` in it."""
    write(tmp_path / "plain.toml", tree_scenario(name="plain", seed=5))
    write(tmp_path / "methods.toml", tree_scenario(name="methods", variants=VARIANTS, sizes=SIZES))
    return tmp_path


def write(path: Path, tree: dict[str, Any]) -> str:
    path.write_text(tomli_w.dumps(tree))
    return str(path)


def expanded(folder: Path, *runs: dict[str, Any], **more: Any) -> list[SweepRun]:
    options = more.pop("options", SweepOptions())
    file = write(folder / "sweep.toml", {"name": "table", **more, "runs": list(runs)})
    return expand(sweeps.read(file), options)


def ids(runs: list[SweepRun]) -> list[str]:
    return [run.id for run in runs]


def refusal(folder: Path, *runs: dict[str, Any], **more: Any) -> str:
    with pytest.raises(BadInput) as caught:
        expanded(folder, *runs, **more)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


# What is good


def test_a_scenario_without_variants_is_one_run_with_its_own_seed(folder: Path) -> None:
    [run] = expanded(folder, {"scenario": "plain.toml"})

    assert run.id == "plain-seed5"
    assert run.scenario == loader.load(str(folder / "plain.toml"))


def test_runs_meant_for_one_size_are_left_out_at_another(folder: Path) -> None:
    runs = [
        {"scenario": "methods.toml", "only_size": size, "set": {"protocol.rounds": rounds}}
        for size, rounds in (("small", 3), ("paper", 91))
    ]

    def rounds(options: SweepOptions) -> set[int]:
        found = expanded(folder, *runs, size="small", options=options)
        return {run.scenario.protocol.rounds for run in found}

    assert rounds(SweepOptions()) == {3}
    assert rounds(SweepOptions(size="paper")) == {91}


def test_a_size_that_no_run_is_meant_for_is_refused(folder: Path) -> None:
    small = {"scenario": "methods.toml", "only_size": "small"}

    sentence = refusal(folder, small, options=SweepOptions(size="paper"))

    assert sentence == 'size: "table" has runs for small only; give --size with one'


def test_all_variants_are_run_with_the_default_size(folder: Path) -> None:
    runs = expanded(folder, {"scenario": "methods.toml"})

    assert ids(runs) == ["methods-small-fast-seed1", "methods-small-slow-seed1"]
    assert [run.scenario.variant for run in runs] == ["fast", "slow"]


def test_named_variants_are_run_with_every_seed(folder: Path) -> None:
    runs = expanded(folder, {"scenario": "methods.toml", "variants": ["slow"]}, seeds=[1, 2])

    assert ids(runs) == ["methods-small-slow-seed1", "methods-small-slow-seed2"]
    assert [run.scenario.seed for run in runs] == [1, 2]


def test_a_run_has_the_last_word_on_size_and_seeds_before_the_command_line(folder: Path) -> None:
    one = {"scenario": "methods.toml", "variants": ["fast"]}
    own = one | {"size": "small", "seeds": [3]}
    common: dict[str, Any] = {"size": "paper", "seeds": [1]}

    runs = expanded(folder, one, own, **common)
    assert ids(runs) == ["methods-paper-fast-seed1", "methods-small-fast-seed3"]

    told = SweepOptions(size="small", seeds=[7])
    assert ids(expanded(folder, own, **common, options=told)) == ["methods-small-fast-seed7"]


def test_a_grid_is_every_combination_of_its_values(folder: Path) -> None:
    grid = {"task.learning_rate": [0.01, 0.02], "links.edge-cloud": ["lte", "3g"]}

    runs = expanded(folder, {"scenario": "plain.toml", "grid": grid}, seeds=[1, 2])

    assert len(runs) == len(set(ids(runs))) == 8
    assert runs[2].id == "plain-learning_rate-0.01-edge-cloud-3g-seed1"
    assert runs[2].scenario.task.learning_rate == 0.01
    assert runs[2].scenario.links["edge-cloud"].profile == "3g"


def test_settings_are_of_any_type_that_toml_knows(folder: Path) -> None:
    link = {"rate": "2mbit", "delay": 0.05}
    settings = {"links.edge-cloud": link, "task.shuffle": False, "about": 'a "quoted" é\nline'}

    [run] = expanded(folder, {"scenario": "plain.toml", "set": settings})

    assert run.scenario.links["edge-cloud"].rate == "2mbit"
    assert run.scenario.links["edge-cloud"].delay == 0.05
    assert run.scenario.task.shuffle is False
    assert run.scenario.about == 'a "quoted" é\nline'


def test_the_command_lines_settings_hold_for_all_runs(folder: Path) -> None:
    runs = expanded(
        folder,
        {"scenario": "plain.toml", "set": {"protocol.rounds": 3}},
        {"scenario": "methods.toml"},
        options=SweepOptions(changes=["protocol.rounds=4"]),
    )

    assert {run.scenario.protocol.rounds for run in runs} == {4}


def test_runs_that_differ_only_in_their_settings_have_names_of_their_own(folder: Path) -> None:
    runs = expanded(
        folder,
        {"scenario": "plain.toml", "set": {"protocol.rounds": 3}},
        {"scenario": "plain.toml", "set": {"protocol.rounds": 4}},
    )

    assert ids(runs) == ["plain-rounds-3-seed5", "plain-rounds-4-seed5"]


def test_names_are_file_names_and_unique_however_long_or_strange_the_settings(
    folder: Path,
) -> None:
    grid = {"about": ["a/b", "a b", "x" * 300 + "1", "x" * 300 + "2", "../.."]}

    names = ids(expanded(folder, {"scenario": "plain.toml", "grid": grid}))

    assert len(set(names)) == 5
    assert all(len(name) <= 120 and "/" not in name and " " not in name for name in names)


def test_a_run_keeps_its_name_when_another_is_added(folder: Path) -> None:
    first = {"scenario": "plain.toml", "grid": {"about": ["a b"]}}
    alone = ids(expanded(folder, first))

    assert (
        ids(expanded(folder, first, {"scenario": "plain.toml", "set": {"about": "a/b"}}))[:1]
        == alone
    )


def test_a_scenario_alone_means_all_of_its_variants(folder: Path) -> None:
    found = sweeps.read(str(folder / "methods.toml"))

    assert found.name == "methods"
    assert len(expand(found, SweepOptions(size="paper"))) == 2


def test_a_scenario_of_the_library_is_known_by_name(folder: Path) -> None:
    assert ids(expand(sweeps.read("quickstart"), SweepOptions())) == ["quickstart-seed1"]
    assert ids(expanded(folder, {"scenario": "two-layers"})) == ["two-layers-seed1"]


def test_a_shipped_sweep_is_known_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "LIBRARY", folder)
    expanded(folder, {"scenario": "plain.toml"})

    assert sweeps.read("sweep").name == "table"


@pytest.mark.parametrize("name", sorted(sweeps.library()))
def test_every_shipped_sweep_expands_under_its_own_name(name: str) -> None:
    assert sweeps.read(name).name == name
    assert expand(sweeps.read(name), SweepOptions())


# What is refused


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ({}, "runs.1.scenario: missing"),
        (
            {"scenario": "plain.toml", "seds": [1]},
            'runs.1.seds: unknown key; did you mean "seeds"?',
        ),
        ({"scenario": "plain.toml", "seeds": []}, "runs.1.seeds: list should have at least 1"),
        ({"scenario": "plain.toml", "seeds": [1, 1]}, 'runs.1.seeds: "1" is there twice'),
        ({"scenario": "plain.toml", "seeds": ["1"]}, "runs.1.seeds.1: input should be a valid int"),
        ({"scenario": "plain.toml", "set": {"seed": 1}}, 'runs.1.set: "seed" cannot be set here'),
        (
            {"scenario": "plain.toml", "set": {"protocol": {"rounds": 1}}},
            'runs.1.set: "protocol" is a table; write its keys in quotes, like "protocol.rounds"',
        ),
        (
            {"scenario": "plain.toml", "grid": {"protocol.rounds": 3}},
            'runs.1.grid: "protocol.rounds" needs a list of values',
        ),
        (
            {"scenario": "plain.toml", "grid": {"about": ["a"]}, "set": {"about": "b"}},
            'runs.1: "about" is in set and in grid',
        ),
        ({"scenario": "plane.toml"}, 'runs.1.scenario: "plane.toml" is neither a file'),
        ({"scenario": "two-layer"}, 'did you mean "two-layers"?'),
        ({"scenario": "methods.toml", "variants": ["fats"]}, 'did you mean "fast"?'),
        ({"scenario": "methods.toml", "size": "huge"}, "runs.1 (methods): "),
        (
            {"scenario": "plain.toml", "set": {"protocol.rounds": 0}},
            "runs.1 (plain): protocol.round",
        ),
        (
            {"scenario": "plain.toml", "grid": {"task.model": ["lenet5", "lenet"]}},
            "task.model: unk",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(
    folder: Path, runs: dict[str, Any], sentence: str
) -> None:
    assert sentence in refusal(folder, runs)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"sizes": "small"}, 'sizes: unknown key; did you mean "size"?'),
        ({"name": "a b"}, 'name: "a b" cannot name a directory'),
        ({"target": 80.0}, 'target: "80.0" is neither an accuracy like 0.85 nor "baseline"; give'),
        ({"target": "base"}, 'target: "base" is neither an accuracy like 0.85 nor "baseline"'),
    ],
)
def test_a_mistake_about_all_runs_is_told(
    folder: Path, more: dict[str, Any], sentence: str
) -> None:
    assert sentence in refusal(folder, {"scenario": "plain.toml"}, **more)


def test_a_mistake_in_the_last_run_is_found_as_well(folder: Path) -> None:
    good = {"scenario": "plain.toml"}

    assert "runs.2 (plain): " in refusal(folder, good, good | {"set": {"task.model": "lenet"}})


def test_the_same_run_twice_is_refused(folder: Path) -> None:
    one = {"scenario": "methods.toml"}

    sentence = refusal(folder, one, one | {"variants": ["slow"]})

    assert 'runs.2 (methods): "methods-small-slow-seed1" is in the sweep already' in sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("seed=3", '--set seed=3: "seed" cannot be set here; use "seeds"'),
        ("protocol.rounds=3", "--set protocol.rounds=3: the grid varies this"),
        ("protocol.rounds", 'write it like "--set protocol.rounds=5"'),
    ],
)
def test_settings_of_the_command_line_that_contradict_the_file_are_refused(
    folder: Path, change: str, sentence: str
) -> None:
    runs = {"scenario": "plain.toml", "grid": {"protocol.rounds": [1, 2]}}
    plain = runs if "=" in change else {"scenario": "plain.toml"}

    assert sentence in refusal(folder, plain, options=SweepOptions(changes=[change]))


def test_a_file_that_is_neither_sweep_nor_scenario_lacks_its_runs(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"sweep.toml: runs: missing; add"):
        sweeps.read(write(tmp_path / "sweep.toml", {"name": "empty", "seeds": [1]}))


def test_an_unknown_name_is_refused_with_the_closest() -> None:
    with pytest.raises(BadInput, match=r'sweep "quikstart": neither .* "quickstart"\?'):
        sweeps.read("quikstart")
