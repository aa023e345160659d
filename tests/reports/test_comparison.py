"""Runs compared: seeds together, scenarios apart, times against a baseline."""

from pathlib import Path

import pytest

from contracts.errors import BadInput
from reports.comparison.groups import Comparison, Group, Target, compare_runs
from reports.comparison.labels import distinct_labels, identity
from reports.comparison.metrics import BEST, BYTES_ON_WIRE, BYTES_TO_TARGET, FINAL, ROUNDS, TIME
from reports.comparison.runs import read_runs
from reports.comparison.setting_values import setting_texts
from tests.support.compared_runs import BYTES_A_ROUND, scenario, spread_of, write_run


def _compared(place: Path, target: Target = None, baseline: str | None = None) -> Comparison:
    return compare_runs(*read_runs([str(place)]), target=target, baseline=baseline)


def _groups(comparison: Comparison) -> dict[str, Group]:
    (section,) = comparison.sections
    return {group.label: group for group in section.groups}


def test_seeds_of_one_variant_are_one_group_with_mean_and_spread(tmp_path: Path) -> None:
    write_run(tmp_path / "a1", scenario(variant="a", seed=1), round_seconds=100)
    write_run(tmp_path / "a2", scenario(variant="a", seed=2), round_seconds=120)
    write_run(tmp_path / "b1", scenario(variant="b", seed=1))

    groups = _groups(_compared(tmp_path))

    assert [len(group.runs) for group in groups.values()] == [2, 1]
    time = spread_of(groups["a"], TIME)
    assert (time.mean, time.least, time.most) == (330.0, 300.0, 360.0)
    assert time.deviation == pytest.approx(30 * 2**0.5)
    assert spread_of(groups["b"], TIME).deviation is None


def test_rounds_accuracies_and_bytes_are_means(tmp_path: Path) -> None:
    write_run(tmp_path / "1", scenario(seed=1), (0.1, 0.8, 0.9, 0.85))
    write_run(tmp_path / "2", scenario(seed=2), (0.1, None, 0.7, 0.81))

    (group,) = _groups(_compared(tmp_path)).values()

    assert spread_of(group, ROUNDS).mean == 2.0
    assert spread_of(group, FINAL).mean == pytest.approx(0.83)
    assert spread_of(group, BEST).mean == pytest.approx(0.855)
    assert spread_of(group, BYTES_TO_TARGET).mean == 2 * BYTES_A_ROUND
    assert spread_of(group, BYTES_ON_WIRE).mean == 3 * BYTES_A_ROUND


def test_a_given_target_counts_instead_of_the_scenarios_own(tmp_path: Path) -> None:
    write_run(tmp_path / "run")

    (own,) = _groups(_compared(tmp_path)).values()
    (given,) = _groups(_compared(tmp_path, target=0.6)).values()

    assert spread_of(own, TIME).mean == 300.0
    assert spread_of(given, TIME).mean == 200.0


def test_a_mean_time_is_over_the_runs_that_reached_the_target(tmp_path: Path) -> None:
    write_run(tmp_path / "1", scenario(seed=1), (0.1, 0.8))
    write_run(tmp_path / "2", scenario(seed=2), (0.1, 0.79))

    (group,) = _groups(_compared(tmp_path)).values()

    assert spread_of(group, TIME).mean == 100.0
    assert len(group.arrivals) == 1
    assert not group.all_reached


def test_the_worst_verdict_of_a_group_counts(tmp_path: Path) -> None:
    write_run(tmp_path / "1", scenario(seed=1))
    write_run(tmp_path / "2", scenario(seed=2), fidelity={"verdict": "distorted"})
    write_run(tmp_path / "3", scenario(seed=3), fidelity={})

    (group,) = _groups(_compared(tmp_path)).values()

    assert group.verdict == "distorted"


def test_every_scenario_and_size_is_a_section(tmp_path: Path) -> None:
    for number, (name, size) in enumerate((("b", "small"), ("a", ""), ("b", "paper"))):
        for variant in ("x-10", "x-9"):
            tree = scenario(name, variant=variant, size=size)
            write_run(tmp_path / f"{number}" / variant, tree)

    sections = _compared(tmp_path).sections

    assert [section.title for section in sections] == ["a", "b (paper)", "b (small)"]
    assert [[g.label for g in section.groups] for section in sections] == [["x-9", "x-10"]] * 3


def test_single_runs_of_several_files_with_one_task_stand_in_one_section(tmp_path: Path) -> None:
    write_run(tmp_path / "mine", scenario("mine", variant="x"))
    write_run(tmp_path / "yours", scenario("yours"))

    (section,) = _compared(tmp_path).sections

    assert section.title == "fashionmnist, lenet5"
    assert [group.label for group in section.groups] == ["mine x", "yours fedavg"]


def test_single_runs_with_different_tasks_stay_apart(tmp_path: Path) -> None:
    write_run(tmp_path / "mine", scenario("mine"))
    write_run(tmp_path / "yours", scenario("yours", task__dataset="mnist"))

    assert [section.title for section in _compared(tmp_path).sections] == ["mine", "yours"]


def test_the_speed_up_is_the_baselines_time_over_this_one(tmp_path: Path) -> None:
    write_run(tmp_path / "slow", scenario(variant="slow"), round_seconds=150)
    write_run(tmp_path / "fast", scenario(variant="fast"), round_seconds=100)

    (section,) = _compared(tmp_path, baseline="slow").sections

    assert {g.label: section.speed_up(g) for g in section.groups} == {"fast": 1.5, "slow": 1.0}


def test_the_best_baseline_is_the_fastest_of_each_section(tmp_path: Path) -> None:
    for name, seconds in (("one", (100, 200)), ("two", (400, 300))):
        for variant, length in zip(("fedadp-4", "fedadp-6", "tempo"), (*seconds, 50), strict=True):
            tree = scenario(name, variant=variant)
            write_run(tmp_path / name / variant, tree, round_seconds=length)

    sections = _compared(tmp_path, baseline="best:fedadp").sections

    baselines = [section.baseline.label for section in sections if section.baseline]
    assert baselines == ["fedadp-4", "fedadp-6"]
    assert [section.speed_up(section.groups[-1]) for section in sections] == [2.0, 6.0]


def test_a_group_that_reached_the_target_by_luck_is_no_best_baseline(tmp_path: Path) -> None:
    write_run(tmp_path / "1", scenario(variant="x-1", seed=1), (0.1, 0.8))
    write_run(tmp_path / "2", scenario(variant="x-1", seed=2), (0.1, 0.2))
    write_run(tmp_path / "3", scenario(variant="x-2", seed=1), (0.1, 0.2, 0.8))

    (section,) = _compared(tmp_path, baseline="best:x").sections

    assert section.baseline is not None
    assert section.baseline.label == "x-2"


def test_without_a_baseline_that_reached_the_target_there_is_no_speed_up(tmp_path: Path) -> None:
    write_run(tmp_path / "1", scenario(variant="base"), (0.1, 0.2))
    write_run(tmp_path / "2", scenario(variant="other"))

    (section,) = _compared(tmp_path, baseline="base").sections

    assert [section.speed_up(group) for group in section.groups] == [None, None]


@pytest.mark.parametrize("baseline", ["tempos", "best:tempos"])
def test_an_unknown_baseline_is_refused_with_the_closest_name(
    tmp_path: Path, baseline: str
) -> None:
    write_run(tmp_path / "run", scenario(variant="tempo"))

    with pytest.raises(BadInput, match=f'--baseline {baseline}: .*did you mean "tempo"'):
        _compared(tmp_path, baseline=baseline)


@pytest.mark.parametrize("target", [0.0, 85.0])
def test_a_target_that_is_no_share_is_refused(tmp_path: Path, target: float) -> None:
    write_run(tmp_path / "run")

    with pytest.raises(BadInput, match=r"--target .* give it as a share"):
        _compared(tmp_path, target=target)


def test_mixed_clocks_and_repeated_seeds_are_warned_of(tmp_path: Path) -> None:
    write_run(tmp_path / "1", scenario(clock="wall"))
    write_run(tmp_path / "2", scenario(clock="virtual"))
    write_run(tmp_path / "3", scenario(clock="virtual"))

    clocks, seeds = _compared(tmp_path).warnings

    assert clocks == "times of different clocks stand side by side: virtual and wall"
    assert seeds == "fig2, fedavg clock=virtual: 2 runs have 1 seed; each run counts"


def test_when_no_run_can_be_compared_the_first_cause_is_said(tmp_path: Path) -> None:
    write_run(tmp_path / "run", failure="client3 died")

    with pytest.raises(BadInput, match=r"none of the runs .*run: failed: client3 died"):
        _compared(tmp_path)


def test_the_baselines_last_accuracy_is_a_target_of_each_seeds_own(tmp_path: Path) -> None:
    for seed, base, other in ((1, (0.5, 0.6), (0.6, 0.5)), (2, (0.7, 0.8), (0.75, 0.8))):
        write_run(tmp_path / f"a{seed}", scenario(variant="avg", seed=seed), (0.1, *base))
        write_run(tmp_path / f"b{seed}", scenario(variant="rl", seed=seed), (0.1, *other))

    comparison = _compared(tmp_path, target="baseline", baseline="avg")

    groups = _groups(comparison)
    assert groups["avg"].target == pytest.approx(0.7)
    assert [point.round for _, point in groups["avg"].arrivals] == [2, 2]
    assert [point.round for _, point in groups["rl"].arrivals] == [1, 2]
    # 2 rounds against 1.5 in the mean
    (section,) = comparison.sections
    assert section.speed_up(groups["rl"], ROUNDS) == pytest.approx(2 / 1.5)
    assert section.speed_up(groups["rl"]) == pytest.approx(2 / 1.5)


def test_rounds_and_time_have_a_speed_up_each(tmp_path: Path) -> None:
    write_run(tmp_path / "a", scenario(variant="avg"), (0.1, 0.5, 0.8), round_seconds=100)
    write_run(tmp_path / "b", scenario(variant="rl"), (0.1, 0.8), round_seconds=300)

    comparison = _compared(tmp_path, baseline="avg")

    (section,) = comparison.sections
    rl = _groups(comparison)["rl"]
    assert section.speed_up(rl, ROUNDS) == pytest.approx(2)
    assert section.speed_up(rl) == pytest.approx(200 / 300)


@pytest.mark.parametrize("baseline", [None, "best:avg"])
def test_whose_last_accuracy_is_the_target_must_be_said(
    tmp_path: Path, baseline: str | None
) -> None:
    write_run(tmp_path / "a", scenario(variant="avg"))

    with pytest.raises(BadInput, match=r"^--target baseline: whose accuracy it is must be said"):
        _compared(tmp_path, target="baseline", baseline=baseline)


def test_a_baseline_on_several_links_is_held_against_runs_on_the_same(tmp_path: Path) -> None:
    for profile, seconds in (("lan", 10.0), ("lte", 100.0)):
        for variant, accuracies in (("avg", (0.1, 0.5, 0.8)), ("rl", (0.1, 0.8))):
            tree = scenario(variant=variant, links__edge_cloud__profile=profile)
            write_run(tmp_path / f"{profile}-{variant}", tree, accuracies, seconds)

    comparison = _compared(tmp_path, baseline="avg")

    assert [section.title for section in comparison.sections] == [
        "fig2, edge-cloud=lan",
        "fig2, edge-cloud=lte",
    ]
    for section in comparison.sections:
        assert [group.label for group in section.groups] == ["avg", "rl"]
        assert section.speed_up(section.groups[1]) == pytest.approx(2)


def test_a_mix_is_named_by_its_profiles_and_their_shares() -> None:
    def flat(mix: dict[str, float]) -> dict[str, str]:
        parts = [{"profile": name, "share": share, "delay": "1ms"} for name, share in mix.items()]
        return identity({"links": {"client-cloud": {"mix": parts, "queueing": "fifo"}}})

    runs = [flat({"wifi": 1.0, "lte": 3.0}), flat({"wifi": 1.0})]

    assert distinct_labels(["fedavg", "fedavg"], runs) == [
        "fedavg client-cloud=25 % wifi + 75 % lte",
        "fedavg client-cloud=100 % wifi",
    ]
    assert setting_texts("links.client-cloud", runs) == ["25 % wifi + 75 % lte", "100 % wifi"]


def test_a_table_and_a_spread_are_named_in_short() -> None:
    common = {"queueing": "fifo", "offload": True}
    drawn: list[dict[str, object]] = [
        {"table": "us-isps-2022"},
        {"profile": "lte", "spread": 0.5, "rate_up": "10mbit"},
        {"profile": "lte", "rate_up": "10mbit"},
    ]
    runs = [identity({"links": {"client-cloud": link | common}}) for link in drawn]

    names = ["table us-isps-2022", "lte spread 0.5", "lte"]
    assert distinct_labels(["fedavg"] * 3, runs) == [f"fedavg client-cloud={n}" for n in names]
    assert setting_texts("links.client-cloud", runs) == names
