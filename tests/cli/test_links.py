"""`metronome links`: the sweep it makes, what it refuses, and what it leaves."""

import json
from pathlib import Path

import pytest

from cli import commands
from cli.links import link_sweep, links
from cli.sweep import runs
from cli.sweep.directories import RunPaths
from contracts.errors import BadInput
from scenarios.expansion import SweepOptions, expand
from scenarios.loader import load
from tests.support.compared_runs import write_run

TEMPO = "tempo-fashionmnist-dirichlet-0.1"


def test_a_study_is_a_sweep_over_the_tiers_profiles() -> None:
    table = link_sweep(TEMPO, "edge-cloud", ["fibre", "3g"], seeds=2, variants=["tempo"])
    runs = expand(table, SweepOptions())

    assert table.name == f"links-{TEMPO}-edge-cloud"
    assert [run.id.removeprefix(f"{TEMPO}-small-tempo-edge-cloud-") for run in runs] == [
        *("fibre-seed1", "fibre-seed2", "3g-seed1", "3g-seed2")
    ]
    link = runs[2].scenario.links["edge-cloud"]
    assert (link.profile, link.rate_up, link.rate) == ("3g", "1.5mbit", None)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--tier", "edge-clod"], '--tier edge-clod: "tempo" is run on tree, without such links; '),
        (["--tier", "edge-clod"], 'did you mean "edge-cloud"?'),
        (["--profiles", "fiber,lte"], 'unknown profile "fiber"; did you mean "fibre"?'),
        (["--profiles", "lte"], "--profiles lte: nothing to compare; name two or more"),
        (["--profiles", "lte,,3g"], "--profiles lte,,3g: write it like --profiles A,B"),
        (["--profiles", "lte,lte"], "each of them once"),
        (["--seeds", "0"], "--seeds 0: it is how many; give 1 to 10000"),
        (["--variants", "tempi"], 'did you mean "tempo"?'),
        (["--set", "links.edge-cloud=3g"], "the grid varies this"),
        (["--live", "70000"], "--live 70000: not a port"),
        (["--live", "x"], '"x" is not a port; give a number, or put --live last'),
    ],
)
def test_bad_words_are_refused_in_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good = ["links", TEMPO, "--tier", "edge-cloud", "--profiles", "fibre,lte"]

    with pytest.raises(BadInput) as caught:
        commands.main([*good, *words])

    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [], "nothing was begun"


def test_a_scenario_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match="tempo-fashion"):
        link_sweep("tempo-fashion", "edge-cloud", ["fibre", "lte"])


def test_a_study_ends_with_table_figure_and_conclusion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runs, "_POLL_SECONDS", 0.01)
    monkeypatch.setenv("COLUMNS", "200")
    shares = {"fibre": {"client compute": 0.9, "edge-cloud up": 0.1}}
    shares["3g"] = {"client compute": 0.2, "edge-cloud up": 0.8}

    def command(place: RunPaths) -> list[str]:
        """Leaves the records of a run in its place, as the run would."""
        tree = load(str(place.scenario)).model_dump(exclude_none=True)
        profile = tree["links"]["edge-cloud"]["profile"]
        write_run(place.directory, tree, bottleneck={"by_part": shares[profile]})
        return ["true"]

    code = links(
        TEMPO,
        tier="edge-cloud",
        profiles="fibre,3g",
        seeds=None,
        variants="tempo,fedadp-6",
        size="small",
        changes=["protocol.rounds=4"],
        jobs=1,
        out=str(tmp_path / "out"),
        data_dir=None,
        command=command,
    )

    assert code == 0
    said = capsys.readouterr().out
    assert "The clients' computing is the bottleneck on fibre; on 3g it is the edge-cloud" in said
    written = {path.name for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert {"links.csv", "links.md", "links.png", "comparison-over.png"} <= written
    first = next((tmp_path / "out").glob("*tempo-edge-cloud-fibre*/summary.json"))
    assert json.loads(first.read_text())["variant"] == "tempo"
