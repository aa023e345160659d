"""What a run is prepared with when plug-ins bring its parts, and what is refused by then."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.plugins import bring
from contracts import plugins
from contracts.errors import BadInput
from contracts.training import Task
from learning.evaluation.scores import evaluate
from learning.models import flops
from learning.remembering.names import Names, of_first_model
from learning.training.context import TrainingContext
from learning.training.run_data import RunData
from learning.training.sgd import train
from runner import provenance
from runner.preparation import PreparedRun, prepare
from scenarios import loader
from tests.support.plugin_files import EXAMPLES, bring_text, nothing_brought
from tests.support.scenario_trees import star_scenario, tree_scenario

__all__ = ["nothing_brought"]


def prepared(run: Path, protocol: dict[str, Any] | None = None, **task: Any) -> PreparedRun:
    tree = star_scenario(clients=3)
    tree["task"] |= task
    tree["protocol"] |= protocol or {}
    return prepare(loader.check(tree), None, run)


def letters(run: Path) -> PreparedRun:
    bring([str(EXAMPLES / "next_letter.py")])
    return prepared(run, dataset="sentences", model="letter-gru", samples_per_client=200)


def test_a_task_without_pictures_is_prepared_trained_and_evaluated(tmp_path: Path) -> None:
    letters(tmp_path / "run").write()
    plugins.forget()

    context = TrainingContext.load(tmp_path / "run")
    before = evaluate(_weights(context), context)
    result = train(_task(context), context)
    after = evaluate(result.tensors, context)

    inputs, labels = context.samples(0)
    assert (inputs.shape, str(inputs.dtype)) == ((200, 16), "torch.int64")
    assert len(labels) == result.samples == 200
    assert after.loss < before.loss and after.accuracy > before.accuracy
    assert len(after.by_class) == 28
    assert (tmp_path / "run" / "data.csv").read_text().startswith("client,class,samples\n")


def _weights(context: TrainingContext) -> dict[str, np.ndarray]:
    return {name: t.detach().numpy().copy() for name, t in context.module.named_parameters()}


def _task(context: TrainingContext) -> Task:
    return Task(
        job="j",
        client=0,
        epochs=3,
        batch_size=10,
        learning_rate=0.5,
        momentum=0.0,
        weight_decay=0.0,
        shuffle=True,
        seed=1,
        rule="",
        settings={},
        tensors=_weights(context),
    )


def test_a_recurrent_model_costs_what_its_layers_multiply() -> None:
    bring([str(EXAMPLES / "next_letter.py")])

    found = flops.forward_flops("letter-gru", (16,), 28, batch_size=10, tokens=True)

    recurrent, last = 16 * 3 * 32 * (8 + 32), 32 * 28  # multiplications of one sample
    assert found == 10 * 2 * (recurrent + last)


def test_vectors_are_normalised_number_by_number(tmp_path: Path) -> None:
    bring_text(tmp_path, TABLE)
    prepared(tmp_path / "run", dataset="table", model="tiny-mlp").write()
    plugins.forget()

    context = TrainingContext.load(tmp_path / "run")

    inputs, _ = context.samples(0)
    raw, _ = context.data.raw(0)
    assert raw.dtype == np.float32 and inputs.shape[1:] == (3,)
    wanted = (raw - np.array([0, 5, 100])) / np.array([1, 2, 50])
    np.testing.assert_allclose(inputs.numpy(), wanted, rtol=1e-5)


TABLE = """
import numpy as np
from learning.data.dataset import Dataset

def table(data_dir):
    rng = np.random.default_rng(1)
    labels = np.arange(300) % 4
    inputs = rng.normal([0, 5, 100], [1, 2, 50], (300, 3)) + labels[:, None]
    return Dataset(inputs, labels, inputs[:50], labels[:50], 4, mean=(0, 5, 100), std=(1, 2, 50))

DATASETS = {"table": table}
"""


def test_a_model_for_pictures_refuses_a_table(tmp_path: Path) -> None:
    bring_text(tmp_path, TABLE)
    with pytest.raises(BadInput, match=r"lenet5 takes square images, and .* the shape 3;"):
        prepared(tmp_path / "run", dataset="table", model="lenet5")


def test_samples_that_differ_from_process_to_process_are_refused(tmp_path: Path) -> None:
    bring_text(tmp_path, TABLE.replace("default_rng(1)", "default_rng()"))
    prepared(tmp_path / "run", dataset="table", model="tiny-mlp").write()

    with pytest.raises(BadInput, match="gave other samples than when the run was prepared"):
        RunData.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("labels, inputs[:50]", "labels + 1, inputs[:50]", "train_labels go from 1 to 4; count 4"),
        ("labels[:50], 4", "labels[:49], 4", "there are 50 test_inputs and 49 test_labels"),
        ("labels[:50], 4", "labels[:50], 4.0", "classes is 4.0; give their number"),
        ("inputs, labels, in", "inputs * np.inf, labels, in", "train_inputs are not finite"),
        ("inputs[:50],", "inputs[:50, :2],", "train_inputs and test_inputs differ in shape"),
        ("std=(1, 2, 50)", "std=(1, 2)", "give mean and std together"),
        ("std=(1, 2, 50)", "std=(1, 0, 2)", "every std above 0"),
        ("return Dataset(", "return list((", "a list was given; return a learning.data.dataset"),
    ],
)
def test_a_data_set_that_is_none_is_refused(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    text = TABLE.replace(old, new)
    if "list((" in new:
        text = text.replace("mean=(0, 5, 100), std=(1, 2, 50))", "0))")
    bring_text(tmp_path, text)

    with pytest.raises(BadInput) as caught:
        prepared(tmp_path / "run", dataset="table", model="tiny-mlp")

    assert str(caught.value).startswith(f'{tmp_path / "mine.py"}:10: data set "table": ')
    assert sentence in str(caught.value)


def test_a_data_set_whose_function_fails_is_told_with_its_line(tmp_path: Path) -> None:
    bring_text(tmp_path, TABLE.replace("    labels =", "    rng.nothing()\n    labels ="))
    with pytest.raises(BadInput, match=r'mine\.py:6: data set "table" cannot be loaded \(Attri'):
        prepared(tmp_path / "run", dataset="table", model="tiny-mlp")


NET = """
def net(shape, classes):
    from torch import nn
    return nn.Sequential(nn.Flatten(), nn.Linear(784, classes))

MODELS = {"net": net}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("784, classes", "784, 7", 5, "gives (10, 7) for 10 samples of shape (1, 28, 28)"),
        ("nn.Flatten(), ", "", 5, "does not take samples of shape (1, 28, 28)"),
        ("784, classes", "784, class", 3, "cannot be loaded (SyntaxError"),
        ("784, classes", "784, klasses", 3, "cannot be made for samples of shape (1, 28, 28)"),
        ("nn.Sequential(nn.Flatten(), nn.Linear(784, classes))", "shape", 5, "is a tuple"),
        ("nn.Linear(784, classes)", "nn.ReLU()", 5, "has no weights"),
    ],
)
def test_a_model_that_does_not_fit_its_data_is_refused(
    tmp_path: Path, old: str, new: str, line: int, sentence: str
) -> None:
    with pytest.raises(BadInput) as caught:
        bring_text(tmp_path, NET.replace(old, new))
        prepared(tmp_path / "run", model="net")

    assert str(caught.value).startswith(f"{tmp_path / 'mine.py'}:{line}: "), caught.value
    assert sentence in str(caught.value)


DEAL = """
import numpy as np

def deal(deal):
    return [np.arange(n * 10, n * 10 + 10) for n in range(deal.clients)]

PARTITIONS = {"mine": deal}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("range(deal.clients)", "range(2)", 6, "has 2 parts for 3 clients"),
        ("n * 10 + 10", "n * 10", 6, "gives client1 int64(0,)"),
        ("n * 10 + 10", "n * 10 + 11", 6, "deals samples twice"),
        ("n * 10, ", "n * 10 - 1, ", 6, "has indices outside the 2000 training samples"),
        ("n * 10 + 10", "n / 0", 4, "cannot be made (ZeroDivisionError"),
    ],
)
def test_a_partition_that_deals_wrongly_is_refused(
    tmp_path: Path, old: str, new: str, line: int, sentence: str
) -> None:
    bring_text(tmp_path, DEAL.replace(old, new))

    with pytest.raises(BadInput) as caught:
        prepared(tmp_path / "run", partition="mine")

    assert str(caught.value).startswith(f"{tmp_path / 'mine.py'}:{line}: "), caught.value
    assert sentence in str(caught.value)


METHOD = """
from protocols import fedavg
from protocols.base import Package, Work

class Server(fedavg.Server):
    def finish(self):
        return super().finish()

class Client(fedavg.Client):
    def work(self, package):
        return super().work(package)
    def reply(self, package, result):
        return super().reply(package, result)

Settings = fedavg.Settings
PROTOCOLS = {"mine": __name__}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("return super().finish()", "self.nothing", 6, "fails in its first round (AttributeError"),
        ("return super().finish()", "super().finish()", 15, "finish() must return the decisions"),
        ("return super().finish()", "self.model = {}; return {}", 15, "has other tensors, shapes"),
        ("super().work(package)", "Work(epochs=0)", 15, "trains nothing in a round; ask for epoch"),
        ("super().work(package)", "Work(1, rule='fedpro')", 15, 'no method is called "fedpro"'),
        ("super().reply(package, result)", "Package()", 15, "its update cannot be sent"),
        ("super().reply(package, result)", "package", 15, "fails in its first round"),
        ("super().reply(package, result)", "Package({'a': Work}, result.tensors)", 15, "cannot be"),
    ],
)
def test_a_method_whose_first_round_fails_is_refused(
    tmp_path: Path, old: str, new: str, line: int, sentence: str
) -> None:
    bring_text(tmp_path, METHOD.replace(old, new))

    with pytest.raises(BadInput) as caught:
        prepared(tmp_path / "run", {"name": "mine"})

    assert str(caught.value).startswith(f"{tmp_path / 'mine.py'}:{line}: "), caught.value
    assert sentence in str(caught.value) and not (tmp_path / "run").exists()


def test_a_method_on_a_tree_is_tried_with_an_edge(tmp_path: Path) -> None:
    broken = "class Edge(Server):\n    def upward(self):\n        return self.nothing\n"
    bring_text(tmp_path, METHOD + broken)
    scenario = tree_scenario()
    scenario["protocol"] |= {"name": "mine"}

    with pytest.raises(BadInput, match=r"mine\.py:18: .*no attribute 'nothing'"):
        prepare(loader.check(scenario), None, tmp_path / "run")


def test_a_run_records_its_plugins_and_keeps_copies(tmp_path: Path) -> None:
    run = letters(tmp_path / "run")
    run = run.with_provenance(provenance.collect("torch", "none"))
    run.write()

    (made,) = json.loads((tmp_path / "run" / "plan.json").read_text())["provenance"]["plugins"]

    file = EXAMPLES / "next_letter.py"
    assert (made["name"], made["path"]) == ("next_letter", str(file))
    copy = tmp_path / "run" / "plugins" / "next_letter" / "next_letter.py"
    assert copy.read_bytes() == file.read_bytes()
    assert made["digest"] == plugins.brought()[0].digest


def test_what_is_remembered_is_named_by_the_code_of_a_model_and_of_a_rule(tmp_path: Path) -> None:
    found = []
    for number, text in enumerate((NET, NET + "# changed\n")):
        run = tmp_path / f"run{number}"
        bring_text(tmp_path, text + METHOD)
        prepared(run, model="net").write()
        data, task = RunData.load(run), _task(TrainingContext.load(run))
        ruled = Task(**{f: getattr(task, f) for f in Task.__slots__} | {"rule": "mine"})
        names = Names(data, "net"), Names(data, "tiny-mlp")
        found.append(
            [
                of_first_model("net", (1, 28, 28), 10, 1),
                names[0].of_training(task),
                names[0].of_evaluation(task.tensors),
                names[1].of_training(ruled),
                names[1].of_training(task),
            ]
        )
        plugins.forget()

    before, after = found
    assert all(one != other for one, other in zip(before[:4], after[:4], strict=True))
    assert before[4] == after[4], "neither its model nor its rule is a plug-in's"
