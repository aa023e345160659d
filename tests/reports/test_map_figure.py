"""map.png, membership.png and the marks in accuracy.png: they show what the records say."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import image
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

from netem.mobility import centres
from reports.figures.canvas import COLOURS
from reports.figures.map import cell_colour
from reports.finish import finish
from tests.reports.test_handover_reports import (
    WALK,
    handover,
    members,
    moving_plan,
    note,
    write_moving,
)
from tests.reports.test_summary import FACTS
from tests.support.fake_cells import EDGES
from tests.support.fake_run import Fields, event

FIRST, SECOND, THIRD = EDGES
BLUE, ORANGE, GREEN = COLOURS[:3]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    """The figures of a run by the names of their files, which are made but not written."""
    found: dict[str, Figure] = {}

    def keep(figure: Figure, path: Path) -> None:
        found[path.name] = figure

    for name in ("accuracy", "map"):
        monkeypatch.setattr(f"reports.figures.{name}.save", keep)
    monkeypatch.setattr("reports.finish.draw_cells", lambda *_: None)
    return found


def _leg(client: str, start: float, end: float, *points: tuple[float, float]) -> Fields:
    return event(client, "leg", 1, start, end, **{"from": points[0], "to": points[1]})


def _walk(directory: Path, homes: list[list[int]], events: list[Fields]) -> None:
    """Five rounds, so fifty seconds."""
    named = [[EDGES[cell] for cell in home] for home in homes]
    walk = dataclasses.replace(WALK, homes=tuple(map(tuple, homes)))
    write_moving(directory, moving_plan(named, walk=walk), events)
    finish(directory, FACTS)


def _moves(directory: Path, clients: int, events: list[Fields], rounds: int = 5) -> None:
    write_moving(directory, moving_plan([[FIRST]] * clients), events, rounds)
    finish(directory, FACTS)


def _of_kind(axes: Axes, kind: type) -> list[Any]:
    return [artist for artist in axes.get_children() if type(artist) is kind]


def _legend(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def _title(figure: Figure) -> str:
    return figure.get_suptitle()


# map.png


def test_the_map_shows_every_cell_where_it_is(tmp_path: Path, figures: dict[str, Figure]) -> None:
    _walk(tmp_path, [[0]], [_leg("client1", 0.0, 20.0, (0, 0), (40, 0))])

    [axes] = figures["map.png"].axes
    rims = [circle for circle in _of_kind(axes, Circle) if not circle.get_fill()]
    assert [rim.center for rim in rims] == centres(3, 200.0)
    assert [to_hex(rim.get_edgecolor()).upper() for rim in rims] == [BLUE, ORANGE, GREEN]
    assert {rim.radius for rim in rims} == {115.0}
    assert [text.get_text() for text in axes.texts] == list(EDGES)
    assert axes.get_aspect() == 1.0


def test_a_way_ends_where_the_client_was_when_the_run_ended(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    first = _leg("client1", 0.0, 20.0, (0, 0), (40, 0))
    cut = _leg("client1", 30.0, 70.0, (40, 0), (40, 80))  # the run ends half-way
    _walk(tmp_path, [[0]], [first, cut, _leg("client1", 70.0, 90.0, (40, 80), (0, 80))])

    [axes] = figures["map.png"].axes
    [ways] = _of_kind(axes, LineCollection)
    assert [way.tolist() for way in ways.get_segments()] == [[[0, 0], [40, 0], [40, 40]]]
    assert "1 client walks at 2 m/s for 50.0 s" in _title(figures["map.png"])


def test_ways_and_starts_have_the_colour_of_the_home_cell(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    there, back = (0.0, 0.0), (9.0, 9.0)
    legs = [_leg(f"client{n}", 0.0, 20.0, there, back) for n in (1, 2)]
    _walk(tmp_path, [[2, 0], [1]], legs)

    [axes] = figures["map.png"].axes
    [ways] = _of_kind(axes, LineCollection)
    assert [to_hex(colour).upper() for colour in ways.get_colors()] == [GREEN, ORANGE]
    [starts] = _of_kind(axes, PathCollection)
    assert [to_hex(colour).upper() for colour in starts.get_edgecolors()] == [GREEN, ORANGE]


def test_handovers_are_marked_where_they_were(tmp_path: Path, figures: dict[str, Figure]) -> None:
    crossing = handover("client1", 10.0, "1", "12", position=[85.0, 3.0])
    _walk(tmp_path, [[0]], [_leg("client1", 0.0, 60.0, (0, 3), (120, 3)), crossing])

    [axes] = figures["map.png"].axes
    _, crossed = _of_kind(axes, PathCollection)
    assert crossed.get_offsets().tolist() == [[85.0, 3.0]]
    assert "handover (1)" in _legend(figures["map.png"])
    assert "membership.png" in figures


def test_ways_of_many_clients_are_paler(tmp_path: Path, figures: dict[str, Figure]) -> None:
    alphas = []
    for count in (6, 144):
        legs = [_leg(f"client{n + 1}", 0.0, 50.0, (-100, 0), (300, n)) for n in range(count)]
        _walk(tmp_path, [[0]] * count, legs)
        [ways] = _of_kind(figures["map.png"].axes[0], LineCollection)
        alphas.append(ways.get_alpha())

    assert alphas[0] > 2 * alphas[1]


def test_without_walking_there_is_no_map(tmp_path: Path, figures: dict[str, Figure]) -> None:
    _moves(tmp_path, 1, [handover("client1", 10.0, "1", "2")])

    assert set(figures) == {"accuracy.png", "membership.png"}


def test_every_cell_has_a_colour_of_its_own() -> None:
    assert len({cell_colour(place) for place in range(14)}) == 14
    assert cell_colour(0).upper() == BLUE


# membership.png


def _bars(figure: Figure) -> list[tuple[str, float, float, float]]:
    """Colour, from when to when, and height."""
    [bars] = _of_kind(figure.axes[0], PolyCollection)
    found = []
    for path, colour in zip(bars.get_paths(), bars.get_facecolors(), strict=True):
        (start, top), (end, bottom) = path.vertices[0], path.vertices[2]
        found.append(
            (to_hex(colour).upper(), float(start), float(end), round(float(bottom - top), 6))
        )
    return found


def test_a_row_shows_what_a_client_heard_and_the_gap(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    away = handover("client2", 10.0, "1", "2") | {"end": 15.0}
    _moves(tmp_path, 2, [away])

    figure = figures["membership.png"]
    assert _bars(figure) == [(BLUE, 0.0, 10.0, 0.78), (ORANGE, 15.0, 50.0, 0.78)]
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["client2"]


def test_cells_that_are_heard_together_share_the_row(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    _moves(tmp_path, 1, [handover("client1", 10.0, "1", "13") | {"end": 10.0}])

    shared = [(BLUE, 10.0, 50.0, 0.39), (GREEN, 10.0, 50.0, 0.39)]
    assert _bars(figures["membership.png"])[1:] == shared


def test_abandoned_updates_are_marked_in_their_rows(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    moves = [handover(f"client{n}", 10.0, "1", "2") for n in (1, 3)]
    lost = note("client3", "abandoned", 10.5, FIRST)
    unseen = note("client2", "abandoned", 30.0, FIRST)  # it has no row
    _moves(tmp_path, 3, [*moves, lost, unseen])

    [marks] = figures["membership.png"].axes[0].lines
    assert np.array(marks.get_xydata()).tolist() == [[10.5, 1.0]]
    assert "update abandoned" in _legend(figures["membership.png"])


def test_at_most_forty_rows_and_a_word_about_the_others(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    _moves(tmp_path, 50, [handover(f"client{n}", 10.0, "1", "2") for n in range(1, 44)])

    figure = figures["membership.png"]
    assert len(figure.axes[0].get_yticks()) == 40
    assert "3 more that moved are not shown" in _title(figure)


def test_a_run_in_which_nobody_moved_has_neither_figure(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    _moves(tmp_path, 2, [members(FIRST, 1, 0.0, ["client1", "client2"])])

    assert set(figures) == {"accuracy.png"}
    assert (tmp_path / "membership.csv").exists()


# accuracy.png


def _marked(figure: Figure) -> tuple[Axes, Axes]:
    in_time, in_rounds = figure.axes
    return in_time, in_rounds


def test_handovers_are_ticks_on_the_axis_of_time_only(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    _moves(tmp_path, 1, [handover("client1", t, "1", "2") for t in (10.0, 20.0, 99.0)])

    in_time, in_rounds = _marked(figures["accuracy.png"])
    [ticks] = _of_kind(in_time, LineCollection)[-1:]
    assert [segment[0][0] for segment in ticks.get_segments()] == [10.0, 20.0]  # not after the end
    assert max(point[1] for segment in ticks.get_segments() for point in segment) < 0.05
    plain = [line for line in _of_kind(in_rounds, LineCollection) if len(line.get_segments()) > 1]
    assert not plain
    assert _legend(figures["accuracy.png"]) == ["2 handovers"]


def test_hundreds_of_handovers_are_pale(tmp_path: Path, figures: dict[str, Figure]) -> None:
    _moves(tmp_path, 1, [handover("client1", 0.1 * n, "1", "2") for n in range(300)])

    in_time, _ = _marked(figures["accuracy.png"])
    assert _of_kind(in_time, LineCollection)[-1].get_alpha() < 0.5


def test_times_are_in_the_unit_of_the_axis(tmp_path: Path, figures: dict[str, Figure]) -> None:
    outage = event("cell2", "outage", 1, 120.0, 240.0)
    _moves(tmp_path, 1, [handover("client1", 180.0, "1", "2"), outage], rounds=60)

    in_time, _ = _marked(figures["accuracy.png"])
    assert "min" in in_time.get_xlabel()
    assert _of_kind(in_time, LineCollection)[-1].get_segments()[0][0][0] == 3.0
    [span] = [box for box in _of_kind(in_time, Rectangle) if box is not in_time.patch]
    assert (span.get_x(), span.get_width()) == (2.0, 2.0)


def test_few_changes_have_letters_that_the_legend_explains(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    changes = [
        event("client1", "crash", 1, 10.0, 10.0),
        event("client2", "crash", 1, 10.0, 10.0),
        event("client1", "restart", 1, 10.1, 10.1),
        event("client-edge", "link", 1, 49.0, 49.0, profile="3g"),
        event("client1-cell1", "link", 1, 49.5, 49.5, profile=None),
    ]
    _moves(tmp_path, 1, changes)

    assert _legend(figures["accuracy.png"]) == [
        "a: client1, client2 crash",
        "b: client1 restarts",
        "c: client-edge now 3g",
        "d: client1-cell1 changed",
    ]
    in_time, _ = _marked(figures["accuracy.png"])
    letters = {text.get_text(): text for text in in_time.texts if len(text.get_text()) == 1}
    places = [letters[letter].get_position()[0] for letter in "abcd"]
    assert np.diff(places).min() > 0.02 and places[-1] <= 1.0


def test_many_changes_are_counted_instead(tmp_path: Path, figures: dict[str, Figure]) -> None:
    _moves(tmp_path, 9, [event(f"client{n}", "crash", 1, n, n) for n in range(1, 10)])

    [words] = _legend(figures["accuracy.png"])
    assert words.startswith("9 crashes, restarts and link changes")
    in_time, _ = _marked(figures["accuracy.png"])
    assert not [text for text in in_time.texts if len(text.get_text()) == 1]


def test_a_run_in_which_nothing_happened_looks_as_before(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    _moves(tmp_path, 1, [members(FIRST, 1, 0.0, ["client1"])])

    figure = figures["accuracy.png"]
    assert not figure.legends
    assert figure.get_size_inches().tolist() == [11.0, 5.0]


def test_nothing_is_marked_where_no_model_was_evaluated(
    tmp_path: Path, figures: dict[str, Figure]
) -> None:
    write_moving(tmp_path, moving_plan([[FIRST]]), [handover("client1", 3.0, "1", "2")])
    (tmp_path / "evaluations.jsonl").write_text("")

    finish(tmp_path, FACTS)

    assert not figures["accuracy.png"].legends


def test_the_figures_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.finish.draw_cells", lambda *_: None)
    crossing = handover("client1", 10.0, "1", "12", position=[85.0, 3.0])

    _walk(tmp_path, [[0]], [_leg("client1", 0.0, 60.0, (0, 3), (120, 3)), crossing])

    for name in ("accuracy.png", "map.png", "membership.png"):
        assert image.imread(tmp_path / name)[:, :, :3].min() < 0.5
