"""Link studies: the table of what held runs up, and the sentence that says where it moves."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from reports.comparison.link_study import LinkStudy, describe_bottlenecks, describe_part, link_study
from reports.comparison.link_table import markdown, show, study_csv
from reports.comparison.runs import read_runs
from reports.figures.link_study import draw_link_study
from tests.support.compared_runs import scenario, write_run

UP, DOWN, TRAIN = "edge-cloud up", "edge-cloud down", "client compute"
RATES = {"fibre": "300mbit", "lte": "10mbit", "3g": "1.5mbit"}


def study(folder: Path, by_seed: Mapping[tuple[str, str, int], Mapping[str, float]]) -> LinkStudy:
    """Of runs by profile, variant and seed, each with its shares; seed n takes n times as long."""
    for (profile, variant, seed), parts in by_seed.items():
        tree = scenario("fig2", variant=variant, seed=seed)
        tree["links"]["edge-cloud"] = {"profile": profile, "rate": RATES[profile]}
        more: dict[str, Any] = {"bottleneck": {"by_part": parts}, "elapsed_seconds": 400.0 * seed}
        write_run(folder / f"{variant}-{profile}-{seed}", tree, round_seconds=100.0 * seed, **more)
    runs, _ = read_runs([str(folder)])
    order = list(RATES)
    runs.sort(key=lambda run: order.index(run.identity["links.edge-cloud.profile"]))
    found = link_study(runs, "links.edge-cloud")
    assert found is not None
    return found


def test_shares_are_means_over_seeds_and_directions_that_weigh_alike_are_one_part(
    tmp_path: Path,
) -> None:
    found = study(
        tmp_path,
        {
            ("fibre", "tempo", 1): {TRAIN: 0.8, UP: 0.1, "cloud aggregate": 0.1},
            ("fibre", "tempo", 2): {TRAIN: 0.6, UP: 0.2, DOWN: 0.2},
            ("3g", "tempo", 1): {TRAIN: 0.4, UP: 0.35, DOWN: 0.25},
        },
    )

    fibre, slow = found.cells
    # 0.8 and 0.6 of computing, 0.1 and 0 of aggregation: 0.75 of computing in the mean
    assert fibre.shares == pytest.approx({"computing": 0.75, "network": 0.25, "waiting": 0.0})
    assert fibre.largest is not None and slow.largest is not None
    assert fibre.largest[0] == TRAIN
    assert fibre.largest[1] == pytest.approx(0.7)
    # 0.35 + 0.25 is more than 0.4, and neither of them is two thirds of 0.6
    assert slow.largest[0] == "edge-cloud links"
    assert slow.largest[1] == pytest.approx(0.6)
    assert found.conclusion == (
        "The clients' computing is the bottleneck on fibre; on 3g it is the edge-cloud link."
    )


def test_methods_that_differ_have_a_sentence_each(tmp_path: Path) -> None:
    computing, network = {TRAIN: 0.9, UP: 0.1}, {TRAIN: 0.1, UP: 0.9}
    found = study(
        tmp_path,
        {
            ("fibre", "tempo", 1): computing,
            ("lte", "tempo", 1): network,
            ("3g", "tempo", 1): network,
            ("fibre", "fedadp-6", 1): computing,
            ("lte", "fedadp-6", 1): computing,
            ("3g", "fedadp-6", 1): computing,
        },
    )

    assert found.conclusion == (
        "fedadp-6: the clients' computing is the bottleneck on all profiles. tempo: the clients' "
        "computing is the bottleneck on fibre; from lte on it is the edge-cloud upload."
    )


@pytest.mark.parametrize(
    ("largest", "sentence"),
    [
        (
            [("fibre", TRAIN), ("cable", TRAIN), ("lte", UP), ("3g", UP)],
            "the clients' computing is the bottleneck up to cable; "
            "from lte on it is the edge-cloud upload",
        ),
        (
            [("fibre", TRAIN), ("lte", UP), ("dsl", UP), ("3g", DOWN)],
            "the clients' computing is the bottleneck on fibre; "
            "from lte to dsl it is the edge-cloud upload; on 3g it is the edge-cloud download",
        ),
        ([("fibre", UP)], "the edge-cloud upload is the bottleneck on all profiles"),
        ([], ""),
    ],
)
def test_where_the_bottleneck_moves_is_said_in_stretches(
    largest: list[tuple[str, str]], sentence: str
) -> None:
    assert describe_bottlenecks(largest) == sentence


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("cloud compute", "the cloud's computing"),
        ("edge aggregate", "aggregation at the edge"),
        ("client-edge links", "the client-edge link"),
        ("client wait", "waiting"),
    ],
)
def test_parts_have_names(part: str, words: str) -> None:
    assert describe_part(part) == words


def test_table_and_csv_say_the_same(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        {
            ("fibre", "tempo", 1): {TRAIN: 0.8, UP: 0.2},
            ("3g", "tempo", 1): {UP: 0.7, TRAIN: 0.2, "edge wait": 0.1},
            ("3g", "tempo", 2): {UP: 0.7, TRAIN: 0.2, "edge wait": 0.1},
        },
    )

    lines = markdown(found).splitlines()
    # 80 % is reached in round 3: after 300 s, and 600 s with the second seed.
    assert lines[4] == (
        "| fibre | tempo | 6 min 40 s | 5 min 0 s | 80 % | 20 % | 0 % "
        "| the clients' computing, 80 % |"
    )
    assert lines[5] == (
        "| 3g | tempo | 10 min 0 s ± 4 min 43 s | 7 min 30 s ± 3 min 32 s | 20 % | 70 % | 10 % "
        "| the edge-cloud upload, 70 % |"
    )
    slow = list(csv.DictReader(io.StringIO(study_csv(found))))[1]
    assert (slow["profile"], slow["runs"], slow["bottleneck"]) == ("3g", "2", UP)
    assert (slow["seconds_to_target_mean"], slow["network"], slow[UP]) == ("450.0", "0.7", "0.7")
    console = Console(width=200, record=True, file=io.StringIO())
    show(found, console)
    assert found.conclusion in console.export_text()


def test_the_figure_is_drawn_also_where_shares_are_not_known(tmp_path: Path) -> None:
    found = study(tmp_path / "runs", {("fibre", "a", 1): {TRAIN: 1.0}, ("3g", "a", 1): {}})

    draw_link_study(tmp_path / "links.png", found)

    assert (tmp_path / "links.png").stat().st_size > 10_000
    assert "| 3g | a | 6 min 40 s | 5 min 0 s | - | - | - | - |" in markdown(found)


def test_one_profile_is_no_study(tmp_path: Path) -> None:
    write_run(tmp_path / "only")
    runs, _ = read_runs([str(tmp_path)])

    assert link_study(runs, "links.edge-cloud") is None
