"""Plug-ins: how they are found, copied and named, and what is refused with file and line."""

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from cli.plugins import bring, bring_anew, command_line
from contracts import plugins
from contracts.errors import BadInput
from contracts.plugins import brought
from learning.data.partitions import PARTITIONS
from netem import profiles
from protocols import registry
from tests.support.plugin_files import bring_text, nothing_brought, write

__all__ = ["nothing_brought"]

PARTITION = """
def mine(deal):
    return []

PARTITIONS = {"mine": mine}
"""


def test_a_file_brings_names_that_stand_beside_our_own(tmp_path: Path) -> None:
    bring_text(tmp_path, PARTITION)

    assert list(PARTITIONS)[-1] == "mine" and "iid" in PARTITIONS
    assert PARTITIONS["mine"].__module__ == "metronome_plugin_mine"
    (plugin,) = brought()
    assert PARTITIONS.plugin("mine") is plugin and PARTITIONS.plugin("iid") is None
    assert plugin.digest == hashlib.sha256((tmp_path / "mine.py").read_bytes()).hexdigest()
    assert PARTITIONS.code("mine") == plugin.digest and PARTITIONS.code("iid") == ""


def test_the_environment_brings_too_and_the_same_file_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (
        write(tmp_path, PARTITION),
        write(tmp_path, 'LINKS = {"l": {"rate": "1mbit"}}', "o.py"),
    )
    monkeypatch.setenv("METRONOME_PLUGINS", os.pathsep.join(["", str(other), str(one)]))

    bring([str(one)])

    assert [plugin.name for plugin in brought()] == ["mine", "o"]
    assert command_line() == ["--plugin", str(one), "--plugin", str(other)]
    assert profiles.links()["l"] == {"rate": "1mbit"}


def test_a_run_has_copies_which_it_goes_on_with_when_the_original_has_changed(
    tmp_path: Path,
) -> None:
    file = bring_text(tmp_path, PARTITION)
    digest = brought()[0].digest
    plugins.write_copies(tmp_path / "run")
    plugins.forget()
    file.write_text("raise ValueError")

    bring_anew([], tmp_path / "run")

    assert PARTITIONS.code("mine") == digest
    assert brought()[0].path == file
    assert "mine" not in (tmp_path / "run").name
    assert [one["brings"]["PARTITIONS"] for one in plugins.copies(tmp_path / "run")] == [["mine"]]


def test_one_that_is_brought_anew_replaces_the_runs_copy(tmp_path: Path) -> None:
    bring_text(tmp_path, PARTITION)
    plugins.write_copies(tmp_path / "run")
    plugins.forget()
    file = write(tmp_path, PARTITION + "# mended\n")

    bring_anew([str(file)], tmp_path / "run")

    assert [plugin.digest for plugin in brought()] == [
        hashlib.sha256(file.read_bytes()).hexdigest()
    ]


def test_nodes_load_only_the_plugin_of_their_method(tmp_path: Path) -> None:
    bring_text(tmp_path, PARTITION)
    plugins.write_copies(tmp_path / "run")
    plugins.forget()

    plugins.bring_copies(tmp_path / "run", of=("PROTOCOLS", "fedavg"))
    assert brought() == ()
    plugins.bring_copies(tmp_path / "run", of=("PARTITIONS", "mine"))
    assert len(brought()) == 1


def test_an_installed_package_is_brought_by_its_name_and_copied_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "fedlib").mkdir(parents=True)
    (site / "fedlib" / "__init__.py").write_text("")
    (site / "fedlib" / "shares.py").write_text("FIRST = 7\n")
    text = "from fedlib.shares import FIRST\nPARTITIONS = {'ours': lambda deal: [FIRST]}\n"
    (site / "fedlib" / "plug.py").write_text(text)
    facts = site / "fedlib-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: fedlib\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[metronome.plugins]\nfedlib = fedlib.plug\n")
    monkeypatch.syspath_prepend(str(site))

    bring(["fedlib"])
    plugins.write_copies(tmp_path / "run")
    assert command_line() == ["--plugin", "fedlib"]
    digest = brought()[0].digest
    plugins.forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == "fedlib"]:
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(tmp_path))  # the package itself is no longer found
    sys.path.remove(str(site))
    plugins.bring_copies(tmp_path / "run")

    assert PARTITIONS["ours"](None) == [7]  # type: ignore[arg-type]
    assert brought()[0].digest == digest
    sys.path.remove(str(tmp_path / "run" / "fedlib"))


def test_a_damaged_index_is_told(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text("{")
    with pytest.raises(BadInput, match="damaged"):
        plugins.copies(tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("x = 1", 1, "has none of PROTOCOLS, MODELS, DATASETS, PARTITIONS, LINKS, DEVICES"),
        ("\nimport no_such_module", 1, "install what it imports, or put it into the same file"),
        ("x = 1\ndef (", 2, "cannot be loaded (SyntaxError"),
        ("x = 1\nx = 1 / 0", 2, "cannot be loaded (ZeroDivisionError: division by zero)"),
        ("x = 1\nMODELS = ['net']", 2, "MODELS is no dictionary of names"),
        ("MODELS = {}", 1, "MODELS is no dictionary of names"),
        ("MODELS = {\n  'a b': 1}", 2, "'a b' is no name; use letters"),
        ("MODELS = {\n  'net': 3}", 2, 'model "net" is a int, and must be a function'),
        ("f = id\nMODELS = {\n'x': f, \n'lenet5': f}", 4, 'model "lenet5" is one of Metronome'),
        ("\n\nLINKS = {'lte': {}}", 1, 'link profile "lte" is one of Metronome'),
        ("LINKS = {'l': {'rate': '3 apples'}}", 1, 'link profile "l": rate: '),
        ("LINKS = {'l': {'rat': '3mbit'}}", 1, 'link profile "l": rat: extra inputs'),
        ("DEVICES = {'d': {'speed': 1e9}}", 1, 'device profile "d": memory: field required'),
        ("DEVICES = {'d': '1e9'}", 1, 'device profile "d" is no table of keys'),
        ("PROTOCOLS = {'p': __name__}", 1, "defines no Settings and no Server and no Client"),
        ("PROTOCOLS = {'p': 'no.such'}", 1, "No module named 'no'"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(
    tmp_path: Path, text: str, line: int, sentence: str
) -> None:
    with pytest.raises(BadInput) as caught:
        bring_text(tmp_path, text)

    assert str(caught.value).startswith(f"{tmp_path / 'mine.py'}:{line}: "), caught.value
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


METHOD = """
from protocols import base, fedavg
Settings, Server, Client = fedavg.Settings, fedavg.Server, fedavg.Client
PROTOCOLS = {"mine": __name__}
"""


def test_a_method_that_trains_nothing_is_refused(tmp_path: Path) -> None:
    idle = METHOD.replace("fedavg.Client", "base.Client")
    with pytest.raises(BadInput, match=r"mine\.py:3: .*Client trains nothing; define work"):
        bring_text(tmp_path, idle)


def test_a_method_without_a_step_is_refused(tmp_path: Path) -> None:
    lame = METHOD.replace("fedavg.Server", "base.Server")
    with pytest.raises(BadInput, match=r"mine\.py:3: .*Server has no outgoing; define it"):
        bring_text(tmp_path, lame)


def test_a_method_whose_file_imports_torch_at_once_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"mine\.py:1: torch is imported at the top"):
        bring_text(tmp_path, "import torch" + METHOD)


def test_a_method_may_be_a_class_too(tmp_path: Path) -> None:
    bring_text(
        tmp_path,
        """
        from protocols import fedavg

        class Mine:
            Settings, Server, Client = fedavg.Settings, fedavg.Server, fedavg.Client

        PROTOCOLS = {"mine": Mine}
        """,
    )

    assert registry.method("mine").name == "mine"


def test_two_plugins_with_one_name_are_refused(tmp_path: Path) -> None:
    bring_text(tmp_path, PARTITION)
    (tmp_path / "other").mkdir()

    with pytest.raises(BadInput, match=r'partition "mine" is also brought by .*mine\.py:4'):
        bring_text(tmp_path, PARTITION, "second.py")
    with pytest.raises(BadInput, match=r"mine\.py is called mine too; rename one"):
        bring_text(tmp_path / "other", PARTITION + "#")


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("./nowhere.py", "cannot be read"),
        ("no-such-package", "no installed package has a plug-in of that name"),
    ],
)
def test_what_is_not_there_is_told(word: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        bring([word])


def test_the_index_names_what_was_copied(tmp_path: Path) -> None:
    bring_text(tmp_path, PARTITION)
    plugins.write_copies(tmp_path / "run")

    (one,) = json.loads((tmp_path / "run" / "index.json").read_text())

    assert (one["name"], one["path"]) == ("mine", str(tmp_path / "mine.py"))
    assert (tmp_path / "run" / "mine" / one["entry"]).read_text() == (
        tmp_path / "mine.py"
    ).read_text()
