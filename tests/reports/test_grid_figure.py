"""comparison-over: runs compared over a setting or two, as lines, heat maps and a table."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from matplotlib import colormaps, colors, image

from cli import commands, compare
from cli.sweep import runs
from cli.sweep.command import sweep
from contracts.errors import BadInput
from reports.comparison.labels import identity
from reports.comparison.over_settings import Series, SettingsComparison, compare_over_settings
from reports.comparison.over_settings_table import over_csv
from reports.comparison.runs import read_runs
from reports.comparison.setting_values import setting_values
from reports.figures.over_settings import draw_over_settings
from tests.support.compared_runs import scenario, write_run
from tests.support.sweep_stand_ins import FAILS, Programs

BLUE, ORANGE = "#0072B2", "#D55E00"
BAND = 237 / 255  # grey
GOOD, BAD = (0.1, 0.6, 0.85), (0.1, 0.5, 0.6)


def _overlap(variant: str, clients: int | None, **more: Any) -> dict[str, Any]:
    numbers = {"kind": "cells"} | ({} if clients is None else {"overlap": clients})
    return scenario(variant=variant, topology=numbers, **more)


def _link(variant: str, link: dict[str, str] | None, **more: Any) -> dict[str, Any]:
    tree = scenario(variant=variant, **more)
    tree["links"] = {"client-edge": {"rate": "9mbit"}} | ({"edge-cloud": link} if link else {})
    return tree


def _over(place: Path, *keys: str) -> SettingsComparison:
    runs, _ = read_runs([str(place)])
    return compare_over_settings(runs, keys)


def _series(over: SettingsComparison) -> dict[str, Series]:
    (panel,) = over.panels
    return {series.label: series for series in panel.series}


def _drawn(place: Path, *keys: str) -> np.ndarray:
    draw_over_settings(place / "over.png", _over(place, *keys))
    return image.imread(place / "over.png")[:, :, :3]


def _pixels(picture: np.ndarray, colour: Any) -> int:
    return int((np.abs(picture - colors.to_rgb(colour)).max(axis=2) < 0.01).sum())


def _band(picture: np.ndarray) -> np.ndarray:
    """The part in which a target that was not reached is marked; empty where there is none."""
    grey = (np.abs(picture - BAND).max(axis=2) < 0.003).sum(axis=1)
    rows = np.flatnonzero(grey > picture.shape[1] / 2)
    return picture[rows[0] : rows[-1]] if rows.size else picture[:0]


def _rows(over: SettingsComparison) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(over_csv(over))))


# What belongs together


def test_runs_that_differ_only_in_the_setting_are_one_series_without_its_name(
    tmp_path: Path,
) -> None:
    for variant in ("a", "b"):
        for clients in (0, 2, 10):
            for seed in (1, 2):
                tree = _overlap(variant, clients, seed=seed)
                write_run(tmp_path / f"{variant}{clients}{seed}", tree)

    over = _over(tmp_path, "topology.overlap")

    assert list(_series(over)) == ["a", "b"]
    groups = _series(over)["a"].groups
    assert {place: len(group.runs) for place, group in groups.items()} == {
        ("0",): 2,
        ("2",): 2,
        ("10",): 2,
    }
    assert over.notes == ()


def test_another_setting_that_varies_stays_in_the_labels(tmp_path: Path) -> None:
    for clients in (0, 2):
        for rate in (0.1, 0.2):
            tree = _overlap("a", clients, task__learning_rate=rate)
            write_run(tmp_path / f"{clients}{rate}", tree)

    over = _over(tmp_path, "topology.overlap")

    assert list(_series(over)) == ["a task.learning_rate=0.1", "a task.learning_rate=0.2"]


def test_what_lacks_the_setting_is_the_same_at_all_values_and_said_so(tmp_path: Path) -> None:
    for profile in ("lte", "3g"):
        write_run(tmp_path / profile, _link("hierfavg", {"profile": profile}))
    write_run(tmp_path / "none", _link("es-fl", None))

    over = _over(tmp_path, "links.edge-cloud")

    alone = _series(over)["es-fl"]
    assert alone.missing_settings == ("links.edge-cloud",)
    assert alone.at(("3g",)) is alone.at(("lte",)) is not None
    assert over.notes == ("fig2: es-fl has no links.edge-cloud: the same all along",)
    assert [row["links.edge-cloud"] for row in _rows(over)] == ["", "3g", "lte"]


def test_values_without_a_finished_run_and_runs_without_a_model_are_said(tmp_path: Path) -> None:
    for clients in (0, 2):
        write_run(tmp_path / f"a{clients}", _overlap("a", clients))
    write_run(tmp_path / "b2", _overlap("b", 2), (None, None))

    assert _over(tmp_path, "topology.overlap").notes == (
        "fig2, b: no finished run at topology.overlap = 0",
        "fig2, b 2: no model was evaluated",
    )


# The values


@pytest.mark.parametrize(
    ("values", "words", "logarithmic"),
    [
        ([10, 9, 0], ("0", "9", "10"), False),
        ([0.001, 1.0, 0.1], ("0.001", "0.1", "1.0"), True),
        (["2mbit", "1gbit", "500kbit"], ("500kbit", "2mbit", "1gbit"), True),
        (["1s", "50ms", 0.5], ("50ms", "0.5", "1s"), False),
        (["walk", "drive", "cycle"], ("walk", "drive", "cycle"), False),
        ([[60, 80], [], [60]], ("60, 80", "none", "60"), False),
    ],
)
def test_numbers_rise_and_other_words_keep_their_order(
    values: list[Any], words: tuple[str, ...], logarithmic: bool
) -> None:
    found = setting_values("task.x", [identity({"task": {"x": value}}) for value in values])

    assert found.texts == words
    assert found.logarithmic is logarithmic


def test_a_link_is_called_by_its_profile_and_what_else_tells_it_apart() -> None:
    links: list[dict[str, str]] = [
        {"profile": "lte", "rate": "9mbit", "delay": "40ms"},
        {"profile": "3g", "rate": "2mbit", "delay": "90ms"},
        {"profile": "3g", "rate": "1mbit", "delay": "90ms"},
        {"rate": "7mbit"},
    ]

    found = setting_values("links.edge-cloud", [identity(_link("", link)) for link in links])

    assert found.texts == ("lte", "3g rate=2mbit", "3g rate=1mbit", "rate=7mbit")
    assert found.numbers is None


@pytest.mark.parametrize(
    ("over", "sentence"),
    [
        ("topology.overlaps", 'no run has this setting; did you mean "topology.overlap"?'),
        ("task.dataset", "it is fashionmnist in all runs; known: topology.overlap"),
        ("seed", "no run has this setting"),
        ("variant", "runs are told apart by it already"),
        ("a,b,c", "name one setting or two"),
        ("topology.overlap,", "name one setting or two"),
        ("topology.overlap,topology.overlap", "name one setting or two"),
    ],
)
def test_a_setting_that_does_not_vary_is_refused_and_nothing_is_written(
    tmp_path: Path, over: str, sentence: str
) -> None:
    for clients in (0, 2):
        write_run(tmp_path / "runs" / str(clients), _overlap("a", clients, seed=clients))
    out = tmp_path / "out"

    with pytest.raises(BadInput) as caught:
        commands.main(["compare", str(tmp_path / "runs"), "--over", over, "--out", str(out)])

    assert str(caught.value).startswith(f"--over {over}: ")
    assert sentence in str(caught.value)
    assert not out.exists()


# The table


def test_the_table_has_accuracy_and_times_of_every_value(tmp_path: Path) -> None:
    for clients, accuracies in ((10, GOOD), (2, BAD)):
        for seed in (1, 2):
            tree = _overlap("a", clients, seed=seed)
            write_run(
                tmp_path / f"{clients}{seed}", tree, accuracies, 10 * seed, elapsed_seconds=99
            )

    two, ten = _rows(_over(tmp_path, "topology.overlap"))

    assert (two["topology.overlap"], ten["topology.overlap"]) == ("2", "10")
    assert (two["runs_that_reached_target"], two["seconds_to_target_mean"]) == ("0", "")
    assert float(ten["seconds_to_target_mean"]) == 30.0
    assert float(ten["seconds_to_target_most"]) == 40.0
    assert float(ten["elapsed_seconds_mean"]) == 99.0
    assert float(ten["final_accuracy_mean"]) == 0.85


# The lines


def test_every_series_is_a_line_in_both_panels_and_nothing_is_cut_off(tmp_path: Path) -> None:
    for variant in ("a", "b $x_ long " * 9):
        for clients in (0, 2, 4):
            write_run(tmp_path / f"{variant[0]}{clients}", _overlap(variant, clients), GOOD)

    picture = _drawn(tmp_path, "topology.overlap")

    half = picture.shape[0] // 2
    for colour in (BLUE, ORANGE):
        assert _pixels(picture[:half], colour) > 500
        assert _pixels(picture[half:], colour) > 500
    assert not _band(picture).size
    for edge in (picture[:, :5], picture[:, -5:], picture[:5], picture[-5:]):
        assert edge.min() == 1.0


def test_a_target_that_was_not_reached_is_marked_in_a_band(tmp_path: Path) -> None:
    for clients, accuracies in ((0, BAD), (2, GOOD)):
        write_run(tmp_path / f"{clients}", _overlap("a", clients), accuracies)

    marked = _band(_drawn(tmp_path, "topology.overlap"))

    middle = marked.shape[1] // 2
    assert _pixels(marked[:, :middle], BLUE) > 50, "where it was not reached"
    assert _pixels(marked[:, middle:], BLUE) == 0


def test_what_lacks_the_setting_is_a_line_across_the_panel(tmp_path: Path) -> None:
    for profile in ("lte", "3g"):
        write_run(tmp_path / profile, _link("hierfavg", {"profile": profile}), GOOD)
    write_run(tmp_path / "none", _link("es-fl", None), (0.1, 0.9, 0.95))

    picture = _drawn(tmp_path, "links.edge-cloud")

    panel = picture[: picture.shape[0] // 2]
    columns = np.flatnonzero((np.abs(panel - colors.to_rgb(BLUE)).max(axis=2) < 0.01).any(axis=0))
    others = np.flatnonzero((np.abs(panel - colors.to_rgb(ORANGE)).max(axis=2) < 0.01).any(axis=0))
    assert columns[0] < others[0] - 100, "es-fl begins before the first value"
    assert columns[-1] > others[-1] + 100


def test_without_a_target_the_whole_runs_time_is_drawn(tmp_path: Path) -> None:
    for clients in (0, 2):
        tree = _overlap("a", clients, task__target_accuracy=None)
        write_run(tmp_path / f"{clients}", tree, GOOD)

    picture = _drawn(tmp_path, "topology.overlap")

    lower = picture[picture.shape[0] // 2 : -picture.shape[0] // 6]
    assert _pixels(lower, BLUE) > 500
    assert not _band(picture).size


def test_every_scenario_is_a_column(tmp_path: Path) -> None:
    for name in "pqr":
        for variant, clients in (("a", 0), ("a", 1000), ("b", None)):
            numbers = {} if clients is None else {"overlap": clients}
            tree = scenario(name, variant=variant, topology=numbers)
            accuracies = (None,) if name == "r" else BAD
            write_run(tmp_path / name / f"{variant}{clients}", tree, accuracies)

    assert _drawn(tmp_path, "topology.overlap").shape[1] == round(3 * 4.6 * 150)


# The heat maps


def test_two_settings_are_heat_maps_with_one_scale(tmp_path: Path) -> None:
    for number, variant in enumerate(("a", "b")):
        for clients in (0, 2):
            for speed in (1.4, 14.0):
                if (variant, clients, speed) == ("b", 2, 14.0):
                    continue
                tree = _overlap(variant, clients, mobility={"speed": speed})
                final = 0.5 + 0.1 * number + clients / 20
                write_run(tmp_path / f"{variant}{clients}{speed}", tree, (0.1, final))

    picture = _drawn(tmp_path, "topology.overlap", "mobility.speed")

    least, most = (colormaps["cividis"](end)[:3] for end in (0.0, 1.0))
    assert _pixels(picture[:, : picture.shape[1] // 2], least) > 2 * 1000
    assert _pixels(picture[:, picture.shape[1] // 2 :], most) > 1000
    over = _over(tmp_path, "topology.overlap", "mobility.speed")
    assert over.notes == (
        "fig2, b: no finished run at topology.overlap = 2, mobility.speed = 14.0",
    )
    assert [(r["label"], r["topology.overlap"], r["mobility.speed"]) for r in _rows(over)[:2]] == [
        ("a", "0", "1.4"),
        ("a", "0", "14.0"),
    ]


def test_a_heat_map_repeats_what_does_not_depend_on_a_setting(tmp_path: Path) -> None:
    for speed in (1.4, 14.0):
        for clients in (0, 2):
            tree = _overlap("a", clients, mobility={"speed": speed})
            write_run(tmp_path / f"a{clients}{speed}", tree, GOOD)
        write_run(tmp_path / f"b{speed}", _overlap("b", None, mobility={"speed": speed}), BAD)

    over = _over(tmp_path, "topology.overlap", "mobility.speed")

    series = _series(over)["b"]
    assert series.at(("0", "1.4")) is series.at(("2", "1.4")) is not None
    picture = _drawn(tmp_path, "topology.overlap", "mobility.speed")
    assert _pixels(picture, colormaps["cividis"](0.0)[:3]) > 4 * 1000


# The commands


def test_the_command_writes_figure_and_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for clients in (0, 2):
        write_run(tmp_path / str(clients), _overlap("a", clients))
    write_run(tmp_path / "b", _overlap("b", None))

    assert commands.main(["compare", str(tmp_path), "--over", "topology.overlap"]) == 0

    assert (tmp_path / "comparison-over.png").exists()
    assert (tmp_path / "comparison-over.csv").exists()
    note = "b has no topology.overlap: the same all along"
    assert note in capsys.readouterr().out
    assert note.replace("_", r"\_") in (tmp_path / "comparison.md").read_text()


GRID = {"links.client-cloud": ["fibre", "3g"]}
RATES = {"task.learning_rate": [0.1, 0.2]}
MOMENTA = {"task.momentum": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("grids", "keys"),
    [
        ([GRID, {}], ["links.client-cloud"]),
        ([GRID | RATES, RATES | GRID], ["links.client-cloud", "task.learning_rate"]),
        ([RATES | {"about": ["x"]}], ["task.learning_rate"]),
        ([GRID, RATES], None),
        ([GRID | RATES | MOMENTA], None),
        ([{"task.momentum": [0.1]}], None),
        ([{}], None),
    ],
)
def test_a_sweep_compares_over_the_settings_of_its_grids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grids: list[dict[str, Any]], keys: Any
) -> None:
    baseline_name = _told(tmp_path, monkeypatch, grids, Programs())

    assert baseline_name.get("over") == keys


def test_a_setting_of_which_one_value_is_left_is_not_compared_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = Programs(own={"two-layers-rounds-2-client-cloud-3g-seed1": FAILS})

    assert "over" not in _told(tmp_path, monkeypatch, [GRID], programs)


def _told(
    place: Path, monkeypatch: pytest.MonkeyPatch, grids: list[dict[str, Any]], programs: Programs
) -> dict[str, Any]:
    """What a sweep tells the comparison at its end."""
    baseline_name: dict[str, Any] = {}

    def remember(*_: Any, **more: Any) -> int:
        baseline_name.update(more)
        return 0

    monkeypatch.setattr(compare, "compare", remember)
    monkeypatch.setattr(runs, "_POLL_SECONDS", 0.01)
    table = [
        {"scenario": "two-layers", "grid": grid, "set": {"protocol.rounds": number}}
        for number, grid in enumerate(grids, 2)
    ]
    file = place / "table.toml"
    file.write_text(tomli_w.dumps({"name": "table", "runs": table}))
    sweep(str(file), None, None, [], 4, str(place / "out"), None, command=programs)
    return baseline_name
