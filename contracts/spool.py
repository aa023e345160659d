"""The layout of a spool: the directory through which the host and the emulated network talk.

Every path in a spool is named here and nowhere else; docs/spool.md says who writes and who reads
each file. A file that a reader waits for is written aside under a name that starts with a dot and
then renamed, so that nobody reads half of it.
"""

from pathlib import Path

GUEST_NAME = "guest"  # what User Mode Linux calls its own directory in the spool (its `umid`)

# How a job or an evaluation was answered, in the files of statistics.
DONE, REMEMBERED = "done", "remembered"

ROUND_PREFIX = "round-"  # of the names of models for the evaluator, before the round's number

# Of every server at the top, models of at most so many rounds wait for the evaluator in the spool.
ROUNDS_BEHIND = 10

_TASK, _RESULT, _ERROR, _MODEL, _KEPT = ".task", ".result", ".error", ".model", ".kept"


class Spool:
    """The paths of all files in a spool; only `create` writes to the disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # Training: nodes write tasks, workers answer with results.
        self.jobs = root / "jobs"
        self.results = root / "results"
        self.stop_workers = root / "stop"
        # Evaluation: top servers write models, the evaluator takes them.
        self.evaluate = root / "evaluate"
        self.stop_evaluator = self.evaluate / "stop"
        self.target_reached = self.evaluate / "reached"  # a model had the accuracy to stop at
        self.evaluator_stats = root / "evaluator.stats"
        # Workers and evaluator say in one sentence why they remember nothing more.
        self.store_trouble = root / "store-trouble"
        # What the launcher tells the runner (contracts/status.py), and the runner the launcher.
        self.status = root / "status.jsonl"
        self.interactive = root / "interactive"  # stop in Mininet's CLI before the nodes start
        self.captures = root / "captures"  # names of links whose packets to keep, one a line
        self.secret = root / "secret"  # the run's keys are made from it; taken away at once
        self.workers_ready = root / "workers-ready"  # training may begin
        # Held by the runner as long as it lives, and what must end with it.
        self.lock = root / "lock"
        self.sessions = root / "sessions"
        # The guest's first program, and the socket of its kernel's management console.
        self.guest_init = root / "init"
        self.guest_console = root / GUEST_NAME / "mconsole"

    @property
    def of_the_host(self) -> tuple[Path, ...]:
        """What the inside of the run must not change, as the host trusts it."""
        return self.lock, self.sessions, self.guest_console.parent

    def create(self) -> None:
        """Make the directories that are not there yet."""
        for directory in (self.jobs, self.results, self.evaluate):
            directory.mkdir(parents=True, exist_ok=True)

    def task(self, job: str) -> Path:
        """Return the file of a job that waits for a worker."""
        return self.jobs / f"{job}{_TASK}"

    def waiting_jobs(self) -> list[str]:
        """Return the jobs that wait for a worker, oldest first."""
        return [path.name.removesuffix(_TASK) for path in _oldest_first(self.jobs, _TASK)]

    def claimed(self, job: str, worker: int) -> Path:
        """Return the name of that file once a worker has taken the job."""
        return self.jobs / f"{job}.claimed-{worker}"

    def claims(self, worker: int) -> list[str]:
        """Return the jobs that a worker has taken and not finished."""
        ending = f".claimed-{worker}"
        names = [path.name for path in self.jobs.iterdir() if path.name.endswith(ending)]
        return [name.removesuffix(ending) for name in sorted(names)]

    def result(self, job: str) -> Path:
        """Return the file with the result of a job."""
        return self.results / f"{job}{_RESULT}"

    def error(self, job: str) -> Path:
        """Return the file that says in one sentence why a job has no result."""
        return self.results / f"{job}{_ERROR}"

    def ready(self, worker: int) -> Path:
        """Return the file that exists once a worker has loaded all it needs."""
        return self.root / f"ready-{worker}"

    def stats(self, worker: int) -> Path:
        """Return the file with a line for each job of a worker: host seconds, and how answered."""
        return self.root / f"worker-{worker}.stats"

    def model_to_evaluate(self, name: str) -> Path:
        """Return the file of a model for the evaluator; its meta has the round and the key."""
        return self.evaluate / f"{name}{_MODEL}"

    @staticmethod
    def round_of(model: Path) -> int:
        """Return the round in the name of a model for the evaluator; -1 if there is none."""
        number = model.stem.removeprefix(ROUND_PREFIX)
        return int(number) if number.isdigit() else -1

    def models_to_evaluate(self, overflow: Path | None = None) -> list[Path]:
        """Return the models that wait for the evaluator, oldest first; also those in `overflow`."""
        return _oldest_first(self.evaluate, _MODEL, overflow)

    def models_kept(self) -> list[Path]:
        """Return the models that were evaluated, but whose round still lacks others."""
        return _oldest_first(self.evaluate, _KEPT)

    @staticmethod
    def kept(model: Path) -> Path:
        """Return the name of a model's file while the average of its round is incomplete."""
        return model.with_suffix(_KEPT)

    @staticmethod
    def taken_back(kept: Path) -> Path:
        """Return the name of a kept model's file once it is to be evaluated again."""
        return kept.with_suffix(_MODEL)

    def verdict(self, round: int) -> Path:
        """Return the file that says whether a round's model reached the accuracy to stop at."""
        return self.evaluate / f"verdict-{round:05d}"

    def checkpoint(self, node: str) -> Path:
        """Return the file in which a node that may crash keeps its state, as if on its own disk."""
        return self.root / f"checkpoint-{node}{_MODEL}"

    def pause(self, waiter: str) -> Path:
        """An empty file that a process inside synchronises to let the host's time pass."""
        return self.root / f"pause-{waiter}"


def unfinished(path: Path) -> Path:
    """Return the name under which a file is written before it is renamed to `path`."""
    return path.with_name(f".{path.name}")


def _oldest_first(directory: Path, ending: str, other: Path | None = None) -> list[Path]:
    """Return the finished files with this ending, oldest first; by name if equally old."""
    found = []
    there = other is not None and other.is_dir()
    for path in (*directory.iterdir(), *(other.iterdir() if other and there else ())):
        if path.name.endswith(ending) and not path.name.startswith("."):
            try:
                found.append((path.stat().st_mtime_ns, path.name, path))
            except FileNotFoundError:  # somebody else took it just now
                continue
    return [path for _, _, path in sorted(found)]


def write_verdict(spool: Spool, round: int, reached: bool) -> None:
    """Say whether the model of this round reached the accuracy at which the run is to stop."""
    path = spool.verdict(round)
    if reached:
        spool.target_reached.touch()
    aside = unfinished(path)
    aside.write_text("reached" if reached else "not yet")
    aside.rename(path)


def read_verdict(spool: Spool, round: int) -> bool | None:
    """Return whether this round's model reached it; None as long as nobody knows."""
    try:
        return spool.verdict(round).read_text() == "reached"
    except FileNotFoundError:
        return None
