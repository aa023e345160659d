"""Check what made a run: refuse newer records, report older ones and differences."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from contracts.errors import BadInput
from contracts.provenance import UNKNOWN, Provenance
from contracts.regular_files import read_json
from contracts.run_directory import RunDirectory
from contracts.schema import SCHEMA
from reports.records.record_files import UnreadableRecord

NamedProvenance = tuple[str, Provenance]  # a run's name and what made it
_MOST_NAMES = 3  # in one pair of brackets


def read_provenance(run: Path) -> Provenance:
    """Return what made the run, from its summary or, before its end, from its plan.

    Raises BadInput if the records are newer than this program, because their meaning may have
    changed since.
    """
    made = recorded_provenance(RunDirectory(run))
    if made.schema > SCHEMA:
        raise BadInput(
            f"{run}: its records are of schema {made.schema}, newer than the {SCHEMA} that this "
            f"Metronome reads; use version {made.version} or a later one"
        )
    return made


def recorded_provenance(files: RunDirectory) -> Provenance:
    """Return what the summary or, where that cannot be read, the plan says, whatever the schema."""
    for path in (files.summary, files.plan):
        try:
            record = read_json(path)
        except (OSError, ValueError):
            continue  # the reader of the records themselves reports what is wrong
        if isinstance(record, Mapping):
            return Provenance.of(record)
    return Provenance()


@contextlib.contextmanager
def refusing_unreadable(runs: Mapping[Path, Provenance]) -> Iterator[None]:
    """Turn whatever goes wrong with the records of these runs into one sentence.

    Records that no run wrote may fail anywhere: numbers that do not fit, names that are not there.
    """
    try:
        yield
    except (BadInput, KeyboardInterrupt):
        raise
    except Exception as error:
        path, made = next(iter(runs.items()))
        more = f" (or one of {len(runs) - 1} more)" if len(runs) > 1 else ""
        raise BadInput(
            f"{path}{more}: {explain_unreadable(made, error)}; name another run"
        ) from error


def explain_unreadable(made: Provenance, cause: Exception) -> str:
    """Say that a run cannot be read and, if its records are old, what to do about it."""
    sentence = f"its records cannot be read ({_cause(cause)})"
    if made.schema == SCHEMA:
        return sentence
    remedy = "run its scenario again, or use the Metronome that wrote them"
    return f"{sentence}; they are of the older schema {made.schema}: {remedy}"


def _cause(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, RecursionError):
        return "they refer to each other without an end"
    return str(error) if isinstance(error, UnreadableRecord) else f"{type(error).__name__}: {error}"


def older_schema_warnings(runs: Iterable[NamedProvenance]) -> Iterator[str]:
    """Yield one sentence if any of these runs has records of an older schema."""
    older = [(name, made.schema) for name, made in runs if made.schema < SCHEMA]
    if older:
        schemas = " and ".join(str(schema) for schema in sorted({schema for _, schema in older}))
        names = _some([name for name, _ in older])
        yield (
            f"records of the older schema {schemas}, before this Metronome's {SCHEMA}: {names}; "
            "what came later is missing there"
        )


def provenance_differences(
    groups: Sequence[tuple[str, Sequence[NamedProvenance]]],
) -> Iterator[str]:
    """Yield a sentence for each way in which the runs of these groups were made differently."""
    for what, fact in _FACTS.items():
        names: dict[str, dict[str, None]] = {}
        for group, runs in groups:
            known = [(name, fact(made)) for name, made in runs if _tells(made, fact)]
            alike = len({value for _, value in known}) == 1
            for name, value in known:
                names.setdefault(value, {})[group if alike else name] = None
        if len(names) > 1:
            told = [f"{value} ({_some(list(whose))})" for value, whose in names.items()]
            yield f"runs of different {what} stand side by side: {_listed(told)}"


def _version(made: Provenance) -> str:
    changes = ", changed" if made.changed else ""
    return f"{made.version} at commit {made.commit[:12]}{changes}"


def _python(made: Provenance) -> str:
    return made.python


def _plugins(made: Provenance) -> str:
    return ", ".join(f"{one.name} {one.digest[:12]}" for one in made.plugins) or "none"


_FACTS: dict[str, Callable[[Provenance], str]] = {
    "versions": _version,
    "kernels": lambda made: made.kernel,
    "engines": lambda made: made.engine,
    "torch versions": lambda made: made.torch,
    "processors": lambda made: made.processor,
    "builds of Python": _python,
    "plug-ins": _plugins,
}


def _tells(made: Provenance, fact: Callable[[Provenance], str]) -> bool:
    """Whether the run has recorded this fact; older runs have not, and one sentence says so."""
    if fact is _python and made.python == UNKNOWN:
        return False  # records of schema 2 had no such key at first
    nothing = (UNKNOWN, _version(Provenance()), _plugins(Provenance()))
    return made.schema > 1 or fact(made) not in nothing


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    shown = list(names[:_MOST_NAMES])
    return _listed([*shown, f"{more} more"] if more > 0 else shown)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
