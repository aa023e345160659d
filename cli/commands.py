"""The commands and their options."""

import argparse
import os
from pathlib import Path
from typing import Any

from contracts.errors import BadInput
from runner.provenance import version

_DATA_HELP = "data sets in torchvision's layout (or METRONOME_DATA)"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise BadInput(f"{message}; see ./metronome --help")


def main(arguments: list[str]) -> int:
    """Do what the command line says; returns the exit code."""
    if arguments[:1] == ["test"]:
        from cli import check

        return check.run(arguments[1:])
    options = parser().parse_args(arguments or ["--help"])
    code: int = options.command(options)
    return code


def parser() -> argparse.ArgumentParser:
    """All that may stand behind ./metronome, but for `test`."""
    parser = _Parser(prog="metronome", description="How long federated training really takes.")
    parser.add_argument("--version", action="version", version=f"metronome {version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    run = commands.add_parser("run", help="run a scenario (default: quickstart)")
    run.add_argument(
        "scenario", nargs="?", default="quickstart", help="a name from `list`, or a file"
    )
    run.add_argument("--links", action="append", default=[], metavar="TIER=PROFILE")
    run.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="changes")
    run.add_argument("--variant", help="one of the scenario's methods (default: its first)")
    run.add_argument("--size", help="one of the scenario's sizes (default: its first)")
    run.add_argument("--clock", choices=("wall", "virtual"))
    run.add_argument("--backend", choices=("auto", "native", "guest"))
    run.add_argument("--seed", type=int)
    run.add_argument("--data", type=Path, help=_DATA_HELP)
    run.add_argument("--out", help="the run's directory (default: runs/NAME-TIME)")
    run.add_argument("--cli", action="store_true", help="stop in Mininet's CLI before training")
    _add_live(run)
    run.set_defaults(command=_run)
    _add_sweep(commands)
    _add_links(commands)
    _add_compare(commands)
    _add_reports(commands)
    listing = commands.add_parser("list", help="list the scenarios and sweeps")
    listing.set_defaults(command=_list)
    profiles = commands.add_parser("profiles", help="list link and device profiles")
    profiles.set_defaults(command=_profiles)
    fidelity = commands.add_parser("fidelity", help="measure rates and delays against a matrix")
    fidelity.add_argument("--clock", choices=("wall", "virtual"), default="virtual")
    fidelity.add_argument("--out", help="write the table to this Markdown file")
    fidelity.set_defaults(command=_fidelity)
    kernel = commands.add_parser("kernel", help="build the virtual clock's kernel, or show it")
    kernel.set_defaults(command=_kernel)
    doctor = commands.add_parser("doctor", help="what this machine can do")
    doctor.set_defaults(command=_doctor)
    commands.add_parser("test", help="run every check of the project (test --help)")
    return parser


def _add_sweep(commands: Any) -> None:
    sweep = commands.add_parser("sweep", help="run a table of scenarios, then compare them")
    sweep.add_argument("file", help="a sweep file, or a scenario: all of its variants")
    sweep.add_argument("--seeds", metavar="1,2,3", help="the seeds of all runs")
    _add_many_runs(sweep, "sweeps/NAME")
    sweep.set_defaults(command=_sweep)


def _add_links(commands: Any) -> None:
    links = commands.add_parser("links", help="try link profiles: where does the time go?")
    links.add_argument("scenario", help="a name from `list`, or a file")
    links.add_argument("--tier", required=True, help="whose links, like edge-cloud")
    links.add_argument("--profiles", required=True, metavar="A,B", help="from `profiles`")
    links.add_argument("--seeds", type=int, metavar="N", help="as many runs of each (seeds 1 to N)")
    links.add_argument("--variants", metavar="A,B", help="the scenario's methods (default: all)")
    _add_many_runs(links, "sweeps/links-NAME-TIER")
    links.set_defaults(command=_links)


def _add_many_runs(parser: argparse.ArgumentParser, place: str) -> None:
    """What `sweep` and `links` say about all of their runs."""
    parser.add_argument("--size", help="the size of all runs")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="changes")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="runs at once (default: one per core)"
    )
    parser.add_argument("--out", help=f"where the runs go (default: {place})")
    parser.add_argument("--data", type=Path, help=_DATA_HELP)
    _add_live(parser)


def _add_live(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--live",
        nargs="?",
        type=_port,
        const=0,
        metavar="PORT",
        help="a page on this machine that shows it while it goes on (default: any free port)",
    )


def _port(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        words = f'"{text}" is not a port; give a number, or put --live last'
        raise argparse.ArgumentTypeError(words) from None


def _add_compare(commands: Any) -> None:
    compare = commands.add_parser("compare", help="set runs side by side: time to target, bytes")
    compare.add_argument(
        "runs", nargs="+", metavar="RUN", help="a run's directory, or one that holds runs"
    )
    compare.add_argument(
        "--target",
        type=_target,
        help="accuracy to reach, like 0.8, or `baseline`: its last (default: the scenario's own)",
    )
    compare.add_argument(
        "--baseline", metavar="NAME", help="speed-up against this variant, or best:PREFIX"
    )
    compare.add_argument(
        "--over", metavar="KEY[,KEY]", help="also accuracy and time over settings that vary"
    )
    compare.add_argument(
        "--rho", type=float, help="on cells: accuracy at this share of main classes, like 0.6"
    )
    compare.add_argument(
        "--out", help="where tables and figures go (default: the sweep, or runs/comparison-TIME)"
    )
    compare.set_defaults(command=_compare)


def _target(text: str) -> float | str:
    try:
        return text if text == "baseline" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: give a share like 0.8, or baseline") from None


def _add_reports(commands: Any) -> None:
    what = {
        "report": ("runs as one HTML page: where the time went, round by round", _report),
        "figures": ("each chart of each run as SVG and PDF, for papers", _figures),
    }
    for name, (words, command) in what.items():
        parser = commands.add_parser(name, help=words)
        parser.add_argument(
            "runs", nargs="+", metavar="RUN", help="a run's directory, or one that holds runs"
        )
        parser.add_argument("--out", help="the directory to write to (default: the run's)")
        if name == "figures":
            parser.add_argument("--round", type=int, help="of the waterfall (default: the second)")
        parser.set_defaults(command=command)


def _report(options: argparse.Namespace) -> int:
    from cli.report import report

    return report(options.runs, options.out)


def _figures(options: argparse.Namespace) -> int:
    from cli.report import figures

    return figures(options.runs, options.out, options.round)


def _run(options: argparse.Namespace) -> int:
    from cli.run import run

    return run(
        options.scenario,
        changes=options.changes,
        links=options.links,
        overrides={"clock": options.clock, "backend": options.backend, "seed": options.seed},
        data_dir=_data_dir(options),
        out=options.out,
        interactive=options.cli,
        variant=options.variant,
        size=options.size,
        live=options.live,
    )


def _data_dir(options: argparse.Namespace) -> Path | None:
    data = options.data or os.environ.get("METRONOME_DATA")
    if data and not Path(data).is_dir():
        raise BadInput(f"--data {data}: no such directory; name one in torchvision's layout")
    return Path(data).resolve() if data else None


def _sweep(options: argparse.Namespace) -> int:
    from cli.sweep.command import sweep

    return sweep(options.file, seeds=options.seeds, **_many_runs(options))


def _links(options: argparse.Namespace) -> int:
    from cli.links import links

    return links(
        options.scenario,
        tier=options.tier,
        profiles=options.profiles,
        seeds=options.seeds,
        variants=options.variants,
        **_many_runs(options),
    )


def _many_runs(options: argparse.Namespace) -> dict[str, Any]:
    said = {key: getattr(options, key) for key in ("size", "changes", "jobs", "out", "live")}
    return {**said, "data_dir": _data_dir(options)}


def _compare(options: argparse.Namespace) -> int:
    from cli.compare import compare
    from reports.comparison.over_settings import keys_of

    over = keys_of(options.over) if options.over is not None else []
    return compare(
        options.runs, options.target, options.baseline, options.out, over=over, rho=options.rho
    )


def _list(_options: argparse.Namespace) -> int:
    from cli.listing import list_scenarios

    return list_scenarios()


def _profiles(_options: argparse.Namespace) -> int:
    from cli.listing import list_profiles

    return list_profiles()


def _doctor(_options: argparse.Namespace) -> int:
    from cli.doctor import doctor

    return doctor()


def _kernel(_options: argparse.Namespace) -> int:
    from netem.guest import kernel

    kernel.ensure(print)
    print(f"kernel: {kernel.describe()}")
    return 0


def _fidelity(options: argparse.Namespace) -> int:
    from cli.fidelity import fidelity

    return fidelity(options.clock, options.out)
