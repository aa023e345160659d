"""`metronome links`: runs a scenario over several link profiles and shows each bottleneck."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from cli.sweep.command import INTERRUPTED, run_table, sweep_directory
from cli.sweep.runs import ChildCommand
from contracts.errors import BadInput
from netem import profiles as known
from reports.records.atomic_files import write_text_atomically
from scenarios import files, loader
from scenarios.expansion import MOST_RUNS, SweepOptions, SweepRun, expand
from scenarios.suggestions import did_you_mean
from scenarios.sweeps import Runs, Sweep

_LONGEST_NAME = 64  # of a sweep


def links(
    scenario: str,
    tier: str,
    profiles: str,
    seeds: int | None,
    variants: str | None,
    size: str | None,
    changes: Sequence[str],
    jobs: int | None,
    out: str | None,
    data_dir: Path | None,
    live: int | None = None,
    command: ChildCommand | None = None,
) -> int:
    """Run the sweep, then print and write where the time went; return the sweep's exit code."""
    table = link_sweep(scenario, tier, _profiles(profiles), seeds, _listed("variants", variants))
    runs = expand(table, SweepOptions(size, None, changes))
    directory = sweep_directory(table, out)
    code = run_table(table, runs, jobs, directory, data_dir, command, live)
    if code != INTERRUPTED:
        _conclude(directory, runs, f"links.{tier}")
    return code


def link_sweep(
    name_or_file: str,
    tier: str,
    profiles: list[str],
    seeds: int | None = None,
    variants: list[str] | None = None,
) -> Sweep:
    """Make the sweep of these profiles on a tier; BadInput if a variant has no such tier."""
    path = files.library().get(name_or_file, Path(name_or_file))
    own: list[str | None] = [None]  # the scenario itself, without variants
    for method in variants or loader.choices(str(path)).variants or own:
        scenario = loader.load(str(path), variant=method)
        topology = scenario.topology
        known_links = (*topology.tiers, *topology.shared_links)
        _check_tier(tier, known_links, topology.kind, method)
    if seeds is not None and not 1 <= seeds <= MOST_RUNS:
        raise BadInput(f"--seeds {seeds}: it is how many; give 1 to {MOST_RUNS}")
    part = Runs(
        scenario=str(path.resolve()), variants=variants, grid={f"links.{tier}": list(profiles)}
    )
    name = f"links-{scenario.name}-{tier}"[:_LONGEST_NAME]
    return Sweep(name=name, seeds=list(range(1, seeds + 1)) if seeds else None, runs=[part])


def _check_tier(tier: str, tiers: Sequence[str], kind: str, method: str | None) -> None:
    if tier in tiers:
        return
    whose = f'"{method}" is run on {kind}' if method else f"the scenario is on {kind}"
    raise BadInput(f"--tier {tier}: {whose}, without such links; {did_you_mean(tier, tiers)}")


def _profiles(text: str) -> list[str]:
    names = _listed("profiles", text) or []
    for name in names:
        if name not in known.links():
            raise BadInput(
                f'--profiles: unknown profile "{name}"; {did_you_mean(name, known.links())} '
                "(metronome profiles lists them)"
            )
    if len(names) < 2:
        raise BadInput(f"--profiles {text}: nothing to compare; name two or more")
    return names


def _listed(option: str, text: str | None) -> list[str] | None:
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(words) or len(set(words)) < len(words):
        raise BadInput(f"--{option} {text}: write it like --{option} A,B, each of them once")
    return words


def _conclude(directory: Path, runs: Sequence[SweepRun], key: str) -> None:
    """Print and write the table and figure of those runs that finished."""
    from reports.comparison.link_study import link_study
    from reports.comparison.link_table import markdown, show, study_csv
    from reports.comparison.runs import read_runs
    from reports.figures.link_study import draw_link_study

    there = [str(directory / run.id) for run in runs if (directory / run.id).is_dir()]
    finished, _ = read_runs(there) if there else ([], [])
    study = link_study(finished, key)
    if study is None:
        return
    console = Console()
    show(study, console)
    write_text_atomically(directory / "links.csv", study_csv(study))
    write_text_atomically(directory / "links.md", markdown(study))
    draw_link_study(directory / "links.png", study)
    names = "links.csv, links.md, links.png"
    console.print(f"written: {names} in {directory}", soft_wrap=True, markup=False)
