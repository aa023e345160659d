"""The commands of `./metronome` and their options.

Commands are imported only when they are run, so that `--help` and `list` do not wait for torch.
"""

import argparse
import os
from pathlib import Path
from typing import Any

from contracts.errors import BadInput
from runner.provenance import version

_DATA_HELP = "directory of data sets in torchvision's layout (default: $METRONOME_DATA)"
_PLUGIN_HELP = (
    "bring code of your own: a file, or what an installed package has under this name; may be "
    "repeated (also $METRONOME_PLUGINS; docs/extending.md)"
)
_SET_HELP = "change one value of the scenario, like protocol.rounds=5; may be repeated"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise BadInput(f"{message}; see ./metronome --help")


def main(arguments: list[str]) -> int:
    """Run the command that the arguments name and return its exit code."""
    if arguments[:1] == ["test"]:
        from cli import check

        return check.run(arguments[1:])
    options = parser().parse_args(arguments or ["--help"])
    if hasattr(options, "plugins"):
        _bring(options.plugins)
    code: int = options.command(options)
    return code


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands; `test` has a parser of its own, in `cli.check`."""
    parser = _Parser(
        prog="metronome",
        description="Measure how long federated learning takes on an emulated network.",
    )
    parser.add_argument("--version", action="version", version=f"metronome {version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    run = _add_command(commands, "run", "run a scenario, by default quickstart")
    run.add_argument(
        "scenario", nargs="?", default="quickstart", help="a name from `list`, or a file"
    )
    run.add_argument(
        "--links",
        action="append",
        default=[],
        metavar="TIER=PROFILE",
        help="give a tier's links another profile, like edge-cloud=lte; may be repeated",
    )
    _add_set(run)
    run.add_argument("--variant", help="the variant to run, usually a method (default: the first)")
    run.add_argument("--size", help="the size to run (default: the first)")
    run.add_argument("--clock", choices=("wall", "virtual"), help="default: the scenario's")
    run.add_argument(
        "--backend", choices=("auto", "native", "guest"), help="default: the scenario's"
    )
    run.add_argument("--seed", type=int, help="default: the scenario's")
    run.add_argument("--data", type=_place, help=_DATA_HELP)
    run.add_argument(
        "--out", type=_place, help="the directory of the run (default: runs/NAME-TIME)"
    )
    run.add_argument(
        "--fresh",
        action="store_true",
        help="train everything, and neither use nor keep what other runs trained",
    )
    run.add_argument(
        "--stop-at-target",
        action="store_true",
        help="end the run once the target accuracy is reached",
    )
    run.add_argument(
        "--cli", action="store_true", help="open Mininet's command line before training"
    )
    run.add_argument(
        "--pcap",
        action="append",
        default=[],
        metavar="LINK",
        help="keep the packets of this link, like client1-wan, in LINK.pcap; repeatable",
    )
    _add_plugins(run)
    _add_live(run)
    run.set_defaults(command=_run)
    resume = _add_command(
        commands, "resume", "go on with a run that was killed, interrupted or failed"
    )
    resume.add_argument("run", metavar="RUN", help="the run's directory")
    _add_plugins(resume, dest="replacing", help="replace one of the run's own plug-ins")
    _add_live(resume)
    resume.set_defaults(command=_resume)
    _add_sweep(commands)
    _add_links(commands)
    _add_compare(commands)
    _add_reports(commands)
    listing = _add_command(commands, "list", "list the scenarios and sweeps of the library")
    _add_plugins(listing)
    listing.set_defaults(command=_list)
    profiles = _add_command(commands, "profiles", "list the link and device profiles")
    _add_plugins(profiles)
    profiles.set_defaults(command=_profiles)
    schema = _add_command(
        commands, "schema", "print the JSON Schema of scenario or sweep files, for editors"
    )
    schema.add_argument("of", nargs="?", default="scenario", choices=("scenario", "sweep"))
    _add_plugins(schema)
    schema.set_defaults(command=_schema)
    fidelity = _add_command(
        commands, "fidelity", "measure a matrix of rates and delays against what is expected"
    )
    fidelity.add_argument("--clock", choices=("wall", "virtual"), default="virtual")
    fidelity.add_argument("--out", type=_place, help="also write the table to this Markdown file")
    fidelity.add_argument(
        "--one-frame", action="store_true", help="one frame a packet, as transport.offload = false"
    )
    fidelity.set_defaults(command=_fidelity)
    cache = _add_command(
        commands, "cache", "show what is remembered of earlier trainings, and how to clear it"
    )
    cache.add_argument("--clear", action="store_true", help="forget everything")
    cache.add_argument("--limit", metavar="SIZE", help="take at most so much disk, like 20gb")
    cache.set_defaults(command=_cache)
    kernel = _add_command(
        commands, "kernel", "build the virtual clock's kernel unless it is there, and describe it"
    )
    kernel.set_defaults(command=_kernel)
    doctor = _add_command(
        commands, "doctor", "show what this machine can do, and which backend it would use"
    )
    doctor.set_defaults(command=_doctor)
    _add_command(commands, "test", "run every check of the project")
    return parser


def _add_command(commands: Any, name: str, summary: str) -> argparse.ArgumentParser:
    """Add a command whose summary is shown both in `--help` and in its own help."""
    description = f"{summary[0].upper()}{summary[1:]}."
    added: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=description
    )
    return added


def _add_sweep(commands: Any) -> None:
    sweep = _add_command(
        commands, "sweep", "run many scenarios, variants and seeds, then compare them"
    )
    sweep.add_argument(
        "file", help="a sweep, by name or file; or a scenario, for all of its variants"
    )
    sweep.add_argument("--seeds", metavar="1,2,3", help="the seeds to run (default: the sweep's)")
    _add_many_runs(sweep, "sweeps/NAME")
    sweep.set_defaults(command=_sweep)


def _add_links(commands: Any) -> None:
    links = _add_command(commands, "links", "run a scenario over several link profiles and compare")
    links.add_argument("scenario", help="a name from `list`, or a file")
    links.add_argument("--tier", required=True, help="the tier whose links change, like edge-cloud")
    links.add_argument(
        "--profiles", required=True, metavar="A,B", help="link profiles to try, from `profiles`"
    )
    links.add_argument("--seeds", type=int, metavar="N", help="run each with the seeds 1 to N")
    links.add_argument(
        "--variants", metavar="A,B", help="the scenario's variants to run (default: all)"
    )
    _add_many_runs(links, "sweeps/links-NAME-TIER")
    links.set_defaults(command=_links)


def _add_many_runs(parser: argparse.ArgumentParser, default_out: str) -> None:
    """Add the options that `sweep` and `links` share, which apply to all of their runs."""
    parser.add_argument("--size", help="the size of all runs")
    _add_set(parser)
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="how many runs go on at the same time (default: one per core; one on the wall clock)",
    )
    parser.add_argument(
        "--out", type=_place, help=f"the directory of the runs (default: {default_out})"
    )
    parser.add_argument("--data", type=_place, help=_DATA_HELP)
    _add_plugins(parser)
    _add_live(parser)


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="changes", help=_SET_HELP
    )


def _add_plugins(
    parser: argparse.ArgumentParser, dest: str = "plugins", help: str = _PLUGIN_HELP
) -> None:
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="FILE", dest=dest, help=help
    )


def _bring(words: list[str]) -> None:
    """Load plug-ins, if there are any."""
    if words or os.environ.get("METRONOME_PLUGINS"):
        from cli.plugins import bring

        bring(words)


def _add_live(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--live",
        nargs="?",
        type=_port,
        const=0,
        metavar="PORT",
        help="serve a live report page on this machine (default: on any free port)",
    )


def _place(text: str) -> str:
    if not text.strip() or any(letter < " " for letter in text):
        raise argparse.ArgumentTypeError(f'"{text}" names nothing; give a directory or file')
    return text


def _port(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        words = f'"{text}" is not a port; give a number, or put --live last'
        raise argparse.ArgumentTypeError(words) from None


def _add_compare(commands: Any) -> None:
    compare = _add_command(commands, "compare", "compare runs: accuracy, time to target, bytes")
    compare.add_argument(
        "runs", nargs="+", metavar="RUN", help="a run's directory, or one with runs in it"
    )
    compare.add_argument(
        "--target",
        type=_target,
        help="the accuracy to reach, like 0.8, or `baseline` for what the baseline reached at its "
        "end (default: the scenario's target_accuracy)",
    )
    compare.add_argument(
        "--baseline",
        metavar="NAME",
        help="show the speed-up against this variant, or best:PREFIX for the fastest of several",
    )
    compare.add_argument(
        "--over",
        metavar="KEY[,KEY]",
        help="also draw accuracy and time over one setting, or accuracy over two",
    )
    compare.add_argument(
        "--rho",
        type=float,
        help="on cells: take accuracies at this share of main classes, like 0.6",
    )
    compare.add_argument(
        "--out",
        type=_place,
        help="the directory of tables and figures (default: the sweep's, or runs/comparison-TIME)",
    )
    compare.set_defaults(command=_compare)


def _target(text: str) -> float | str:
    try:
        return text if text == "baseline" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: give a share like 0.8, or baseline") from None


def _add_reports(commands: Any) -> None:
    what = {
        "report": ("write one HTML page on runs: where the time went, round by round", _report),
        "figures": ("write each chart of each run as SVG and PDF, for papers", _figures),
    }
    for name, (words, command) in what.items():
        parser = _add_command(commands, name, words)
        parser.add_argument(
            "runs", nargs="+", metavar="RUN", help="a run's directory, or one with runs in it"
        )
        parser.add_argument(
            "--out",
            type=_place,
            help="the directory to write to (default: the run's; for several, a new one)",
        )
        if name == "figures":
            parser.add_argument(
                "--round", type=int, help="the round that the waterfall shows (default: the second)"
            )
        parser.set_defaults(command=command)


def _report(options: argparse.Namespace) -> int:
    from cli.report import report

    return report(options.runs, options.out)


def _figures(options: argparse.Namespace) -> int:
    from cli.report import figures

    return figures(options.runs, options.out, options.round)


def _resume(options: argparse.Namespace) -> int:
    from cli.resume import resume

    return resume(options.run, options.live, options.replacing)


def _cache(options: argparse.Namespace) -> int:
    from cli.cache import cache

    return cache(options.clear, options.limit)


def _run(options: argparse.Namespace) -> int:
    from cli.run import run

    changes = [*options.changes, *(["compute.remember=false"] if options.fresh else [])]
    overrides = {"clock": options.clock, "backend": options.backend, "seed": options.seed}
    return run(
        options.scenario,
        changes=changes,
        links=options.links,
        overrides=overrides | {"stop": "target" if options.stop_at_target else None},
        data_dir=_data_dir(options),
        out=options.out,
        interactive=options.cli,
        variant=options.variant,
        size=options.size,
        live=options.live,
        captures=options.pcap,
    )


def _data_dir(options: argparse.Namespace) -> Path | None:
    data = options.data or os.environ.get("METRONOME_DATA")
    if data and not os.path.isdir(data):
        raise BadInput(f"--data {data}: no such directory; name one in torchvision's layout")
    return Path(os.path.realpath(data)) if data else None


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
    from reports.comparison.over_settings import parse_over_keys

    over = parse_over_keys(options.over) if options.over is not None else []
    return compare(
        options.runs, options.target, options.baseline, options.out, over=over, rho=options.rho
    )


def _list(_options: argparse.Namespace) -> int:
    from cli.listing import list_scenarios

    return list_scenarios()


def _profiles(_options: argparse.Namespace) -> int:
    from cli.listing import list_profiles

    return list_profiles()


def _schema(options: argparse.Namespace) -> int:
    from cli.schema import schema

    return schema(options.of)


def _doctor(_options: argparse.Namespace) -> int:
    from cli.doctor import doctor

    return doctor()


def _kernel(_options: argparse.Namespace) -> int:
    from netem.guest import kernel, kernel_store

    if kernel.cached() is None:
        kernel_store.forget_misfits()  # who asks for it may have changed what was in the way
    kernel.ensure(print)
    print(f"kernel: {kernel.describe()}")
    for remark in kernel.remarks():
        print(f"source: {remark}")
    return 0


def _fidelity(options: argparse.Namespace) -> int:
    from cli.fidelity import fidelity

    return fidelity(options.clock, options.out, offload=not options.one_frame)
