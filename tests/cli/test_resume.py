"""`metronome resume` and `metronome cache`: what they refuse, and what they leave alone."""

import json
from pathlib import Path

import pytest

from cli.cache import cache
from cli.resume import resume
from contracts.errors import BadInput
from learning.remembering.store import Store, place
from protocols.wire import Message
from runner.preparation import prepare
from runner.run_lock import busy
from scenarios import loader
from tests.support.scenario_trees import star_scenario


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A run that was killed before it had trained anything."""
    prepare(loader.check(star_scenario(clients=1)), None, tmp_path / "run").write()
    return tmp_path / "run"


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no run that was begun"):
        resume(str(tmp_path))


def test_a_run_that_goes_on_is_refused(begun: Path) -> None:
    with busy(begun), pytest.raises(BadInput, match="this run is going on still"):
        resume(str(begun))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null"])
def test_a_damaged_file_is_named_and_nothing_is_removed(begun: Path, text: str) -> None:
    (begun / "learning.json").write_text(text)
    before = sorted(begun.iterdir())

    with pytest.raises(BadInput, match=r"learning\.json: is damaged"):
        resume(str(begun))

    assert sorted(begun.iterdir()) == before


def test_a_damaged_scenario_is_named(begun: Path) -> None:
    (begun / "scenario.toml").write_text("")

    with pytest.raises(BadInput, match=r"scenario\.toml: "):
        resume(str(begun))


def test_a_finished_run_is_left_as_it_is(begun: Path) -> None:
    (begun / "summary.json").write_text(json.dumps({"schema": 2, "failure": None}))

    assert resume(str(begun)) == 0


def test_clearing_forgets_results_and_keeps_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(place())
    store.put("ab" * 16, Message("result", "metronome", 0))

    assert cache(clear=False, limit="2mb") == 0
    assert store.knows("ab" * 16)
    assert cache(clear=True, limit=None) == 0

    assert not store.knows("ab" * 16) and store.limit() == 2_000_000
    assert "as --limit has set it" in capsys.readouterr().out


@pytest.mark.parametrize("limit", ["x", "0", "-1gb", ""])
def test_a_limit_that_is_none_is_refused_before_anything_is_cleared(limit: str) -> None:
    store = Store(place())
    store.put("ab" * 16, Message("result", "metronome", 0))

    with pytest.raises(BadInput, match="write it like 20gb"):
        cache(clear=True, limit=limit)

    assert store.knows("ab" * 16)


def test_what_is_no_store_is_cleared_away(capsys: pytest.CaptureFixture[str]) -> None:
    place().parent.mkdir(parents=True, exist_ok=True)
    place().write_text("in the way")
    with pytest.raises(BadInput, match="remembered"):
        cache(clear=False, limit=None)

    assert cache(clear=True, limit=None) == 0

    assert "0 trainings" in capsys.readouterr().out
