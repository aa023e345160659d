"""Plug-ins: modules of a user's own, whose dictionaries add names that a scenario may use.

A plug-in is brought by the command line alone (docs/extending.md). A run keeps a copy of each in
its directory, from which its own processes load it: whatever becomes of the original, it goes on.
"""

import ast
import hashlib
import importlib
import importlib.metadata
import json
import re
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from contracts.errors import BadInput

GROUP = "metronome.plugins"  # of entry points, for installed packages
# The dictionaries that a plug-in may have, and what the names in each of them stand for.
KINDS = {
    "PROTOCOLS": "protocol",
    "MODELS": "model",
    "DATASETS": "data set",
    "PARTITIONS": "partition",
    "LINKS": "link profile",
    "DEVICES": "device profile",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MOST_BYTES = 50 << 20  # of a package: every run has a copy
_INDEX = "index.json"


@dataclass(frozen=True)
class Plugin:
    """One plug-in that was loaded, with the files that make it, by their paths in its folder."""

    name: str
    path: Path  # where the user has it
    word: str  # what brings it on a command line
    entry: str  # what to load of the files: one of them, or a package's module
    files: Mapping[str, bytes] = field(repr=False)
    digest: str
    module: ModuleType = field(repr=False)
    imports_torch: int = 0  # the line where it does so as soon as it is loaded; 0: it does not

    def names(self, kind: str) -> Mapping[str, Any]:
        """Return what it brings of a kind, by name."""
        found: Mapping[str, Any] = getattr(self.module, kind, {})
        return found

    def place(self, kind: str, name: object = None) -> str:
        """Return file and line of a dictionary, or of a name in it."""
        file = Path(self.module.__file__ or self.path)
        return f"{file}:{_line_of(file, kind, name)}"

    def blame(self, error: BaseException, kind: str, name: str) -> str:
        """Return file and line where an error arose in the plug-in, or else of the name."""
        here = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename) == Path(self.module.__file__ or self.path)
        ]
        return f"{here[-1].filename}:{here[-1].lineno}" if here else self.place(kind, name)


_brought: list[Plugin] = []


def brought() -> Sequence[Plugin]:
    """Return the plug-ins of this process, in the order in which they came."""
    return tuple(_brought)


def bring(words: Iterable[str]) -> None:
    """Load plug-ins, each given as a file or as an installed package's name for it."""
    for word in words:
        _add(_from_file(Path(word)) if _is_file(word) else _from_package(word))


def bring_copies(folder: Path, of: tuple[str, str] | None = None) -> None:
    """Load a run's plug-ins from its own copies: all, or the one with a name of a kind.

    One that this process has already, because the command line brought it anew, stays.
    """
    there = {plugin.name for plugin in _brought}
    for item in copies(folder):
        if item["name"] not in there and (of is None or of[1] in item["brings"].get(of[0], ())):
            _add(_from_copy(folder / item["name"], item))


def copies(folder: Path) -> list[dict[str, Any]]:
    """Return what a run has noted of its plug-ins; nothing if it has none."""
    try:
        found: list[dict[str, Any]] = json.loads((folder / _INDEX).read_text())
    except FileNotFoundError:
        return []
    except ValueError:
        raise BadInput(f"{folder / _INDEX}: is damaged; run the scenario anew") from None
    return found


def write_copies(folder: Path) -> None:
    """Copy all plug-ins of this process into a run's folder for them."""
    index = []
    for plugin in _brought:
        for name, content in plugin.files.items():
            copy = folder / plugin.name / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        index.append(
            {
                "name": plugin.name,
                "path": str(plugin.path),
                "entry": plugin.entry,
                "digest": plugin.digest,
                "brings": {kind: list(plugin.names(kind)) for kind in KINDS},
            }
        )
    if index:
        (folder / _INDEX).write_text(json.dumps(index, indent=1))


def forget() -> None:
    """Forget all plug-ins of this process; for tests."""
    for plugin in _brought:
        sys.modules.pop(plugin.module.__name__, None)
    _brought.clear()


def _add(plugin: Plugin) -> None:
    """Add a plug-in, once; BadInput if what it brings has no names of its own."""
    for other in _brought:
        if (other.name, other.digest) == (plugin.name, plugin.digest):
            return
        if other.name == plugin.name:
            raise BadInput(
                f"--plugin {plugin.path}: {other.path} is called {plugin.name} too; rename one"
            )
    kinds = [kind for kind in KINDS if hasattr(plugin.module, kind)]
    if not kinds:
        raise BadInput(f"{plugin.path}:1: has none of {', '.join(KINDS)}; define one of these")
    for kind in kinds:
        names = plugin.names(kind)
        if not isinstance(names, Mapping) or not names:
            raise BadInput(
                f'{plugin.place(kind)}: {kind} is no dictionary of names; write {{"a": b}}'
            )
        for name in names:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise BadInput(
                    f"{plugin.place(kind, name)}: {name!r} is no name; use letters, digits and -"
                )
            for other in _brought:
                if name in other.names(kind):
                    raise BadInput(
                        f'{plugin.place(kind, name)}: {KINDS[kind]} "{name}" is also brought by '
                        f"{other.place(kind, name)}; rename one"
                    )
    _brought.append(plugin)


def _is_file(word: str) -> bool:
    return word.endswith(".py") or "/" in word


def _from_file(path: Path) -> Plugin:
    path = path.expanduser().absolute()
    try:
        source = path.read_bytes()
    except OSError as error:
        raise BadInput(f"--plugin {path}: cannot be read ({error.strerror}); name a file") from None
    name = path.stem
    if not _NAME.fullmatch(name) or path.suffix != ".py":
        raise BadInput(f"--plugin {path}: name the file like my-method.py")
    return _of_source(name, path, path, source)


def _of_source(name: str, path: Path, file: Path, source: bytes) -> Plugin:
    """Run the source, as it was read and as its digest says, as a module of its own."""
    module = ModuleType(f"metronome_plugin_{re.sub('[^A-Za-z0-9]', '_', name)}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    had_torch = "torch" in sys.modules
    try:
        exec(compile(source, str(file), "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[module.__name__]
        raise BadInput(f"{_raised_at(error, file)}: {_sentence(error)}") from error
    files, entry = {f"{name}.py": source}, f"{name}.py"
    torch = _line_of_torch(source) or int(not had_torch and "torch" in sys.modules)
    return Plugin(name, path, str(path), entry, files, _digest(files), module, torch)


def _from_package(name: str) -> Plugin:
    found = importlib.metadata.entry_points(group=GROUP, name=name)
    if not found:
        known = sorted(importlib.metadata.entry_points(group=GROUP).names)
        raise BadInput(
            f"--plugin {name}: no installed package has a plug-in of that name "
            f"(there are {', '.join(known) or 'none'}); name one of them, or a file ./{name}.py"
        )
    return _imported(name, None, next(iter(found)).value)


def _from_copy(folder: Path, item: Mapping[str, Any]) -> Plugin:
    entry, path = item["entry"], Path(item["path"])
    if entry.endswith(".py"):
        file = folder / entry
        return _of_source(item["name"], path, file, file.read_bytes())
    sys.path.insert(0, str(folder))
    return _imported(item["name"], path, entry)


def _imported(name: str, path: Path | None, entry: str) -> Plugin:
    """Import a package's module, and read all files of the package."""
    had_torch = "torch" in sys.modules
    try:
        module = importlib.import_module(entry)
    except Exception as error:
        raise BadInput(f"{_raised_at(error, None)}: {_sentence(error)}") from error
    top = Path(importlib.import_module(entry.partition(".")[0]).__file__ or "")
    root = top.parent if top.name == "__init__.py" else top
    parts = [root] if root.is_file() else sorted(root.rglob("*"))
    kept = [part for part in parts if part.is_file() and "__pycache__" not in part.parts]
    if sum(part.stat().st_size for part in kept) > _MOST_BYTES:
        raise BadInput(f"{root}: is too large for a plug-in, of which every run keeps a copy")
    files = {str(part.relative_to(root.parent)): part.read_bytes() for part in kept}
    path = path or Path(module.__file__ or root)
    torch = int(not had_torch and "torch" in sys.modules)
    return Plugin(name, path, name, entry, files, _digest(files), module, torch)


def _digest(files: Mapping[str, bytes]) -> str:
    """Name the contents: a single file's as sha256sum does."""
    if len(files) == 1:
        return hashlib.sha256(*files.values()).hexdigest()
    found = hashlib.sha256()
    for name, content in sorted(files.items()):
        found.update(f"{name} {len(content)}\0".encode() + content)
    return found.hexdigest()


def _raised_at(error: Exception, file: Path | None) -> str:
    """Return the file and line of a plug-in where loading it failed."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    here = [frame for frame in frames if file is None or frame.filename == str(file)]
    return f"{here[-1].filename}:{here[-1].lineno}" if here else f"{file}:1"


def _sentence(error: Exception) -> str:
    said = (str(error).strip().splitlines() or [""])[0]
    words = f"the plug-in cannot be loaded ({type(error).__name__}: {said})"
    if isinstance(error, ImportError):
        return f"{words}; install what it imports, or put it into the same file"
    return f"{words}; correct it"


def _line_of_torch(source: bytes) -> int:
    """Return the line where a module imports torch as soon as it is loaded; 0 if nowhere."""
    for node in ast.parse(source).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] == "torch" for name in names):
            return node.lineno
    return 0


def _line_of(file: Path, kind: str, name: object) -> int:
    """Return the line of a name in a dictionary, as well as the source tells."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError):
        return 1
    line = 1
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if not any(isinstance(target, ast.Name) and target.id == kind for target in targets):
            continue
        line = node.lineno
        value = getattr(node, "value", None)
        for key in value.keys if isinstance(value, ast.Dict) else ():
            if isinstance(key, ast.Constant) and key.value == name:
                line = key.lineno
    return line
