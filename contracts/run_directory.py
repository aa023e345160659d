"""The files of a run directory: every name is defined here and nowhere else.

Whoever writes or reads a file of a run asks `RunDirectory` for its path. What is in each file is
specified in docs/records.md; the columns of the tables are in `contracts.tables`.
"""

from pathlib import Path
from typing import overload


class Entry:
    """A file or a folder with a fixed name; as an attribute of a `RunDirectory` it is a path."""

    def __init__(self, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, run: None, owner: type) -> "Entry": ...
    @overload
    def __get__(self, run: "RunDirectory", owner: type) -> Path: ...
    def __get__(self, run: "RunDirectory | None", owner: type) -> "Entry | Path":
        return self if run is None else run.path / self.name


class RunDirectory:
    """The paths of everything that a run leaves; this class neither reads nor writes them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # Written before anything starts.
    scenario = Entry("scenario.toml")
    plan = Entry("plan.json")
    learning = Entry("learning.json")
    partition = Entry("partition.npz")
    server_data = Entry("server_data.npz")
    initial_model = Entry("initial.model")
    holdings = Entry("data.csv")
    plugins = Entry("plugins")  # copies of those that the command line brought, if any

    # Written line by line while the run goes on: the last line may be torn.
    events = Entry("events.jsonl")
    evaluations = Entry("evaluations.jsonl")
    links = Entry("links.csv")

    # Written once while the run goes on.
    probes = Entry("probes.json")
    varying = Entry("varying.json")
    logs = Entry("logs")
    # Where the network keeps the wall clock's time: models that the evaluator is too slow for.
    waiting_models = Entry("waiting-models")

    def capture(self, link: str) -> Path:
        """Return the file of the packets that crossed a link, if that was asked for."""
        return self.path / f"{link}.pcap"

    # Written when the run has ended, each whole or not at all.
    summary = Entry("summary.json")
    rounds = Entry("rounds.csv")
    cells = Entry("cells.csv")
    handovers = Entry("handovers.csv")
    membership = Entry("membership.csv")
    dissimilarity = Entry("dissimilarity.csv")
    report = Entry("report.html")
    accuracy_figure = Entry("accuracy.png")
    data_figure = Entry("data.png")
    cells_figure = Entry("cells.png")
    map_figure = Entry("map.png")
    membership_figure = Entry("membership.png")
    dissimilarity_figure = Entry("dissimilarity.png")
    figures = Entry("figures")  # by `metronome figures`

    @property
    def of_the_host(self) -> tuple[Path, ...]:
        """What nothing inside the run may change: the host made it, and reads it again."""
        return (
            *(self.scenario, self.plan, self.learning, self.partition, self.server_data),
            *(self.initial_model, self.holdings, self.path / "plugins"),
            *(self.logs, self.evaluations),
        )

    @classmethod
    def names(cls) -> list[str]:
        """Every fixed name; final models and figures of decisions are named after their nodes."""
        return [entry.name for entry in vars(cls).values() if isinstance(entry, Entry)]

    @property
    def holds_a_run(self) -> bool:
        """Whether this is a run; one without a summary goes on still, or was killed."""
        return self.summary.is_file() or self.plan.is_file()

    @property
    def final_models(self) -> list[Path]:
        """The final models that exist: the cloud's, or one of each top node."""
        return sorted(self.path.glob("final*.model"))

    def final_model(self, node: str, tops: int) -> Path:
        """Return where a top node writes its final model; `tops` is the number of top nodes."""
        return self.path / f"{name_of_top('final', node, tops)}.model"

    def decisions_figure(self, node: str) -> Path:
        """Return where the figure of a method's decisions at a top server is drawn."""
        return self.path / ("decisions.png" if node == "cloud" else f"decisions-{node}.png")

    @property
    def network_log(self) -> Path:
        """What the launcher and the nodes printed."""
        return self.logs / "network.log"

    @property
    def evaluator_log(self) -> Path:
        """What the evaluator printed."""
        return self.logs / "evaluator.log"

    def worker_log(self, index: int) -> Path:
        """What a worker printed; workers are counted from 0."""
        return self.logs / f"worker-{index}.log"


def name_of_top(what: str, node: str, tops: int) -> str:
    """Return the name of a top node's file, which has the node's name if there are several."""
    return what if tops == 1 else f"{what}-{node}"


def client_name(index: int) -> str:
    """Return the name of a client in every record; `index` counts the clients from 0."""
    return f"client{index + 1}"
