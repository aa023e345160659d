"""A release of Debian in a folder: made from nothing, entered in namespaces of its own."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.machines import mirror, pip_settings
from benchmarks.machines.inside import Setting
from benchmarks.machines.mirror import Mirror
from contracts.errors import BadInput
from contracts.project import ROOT

TREE = "/root/metronome"
_MAKE_SECONDS = 3600.0
# Whoever clones Metronome has these.
_BEFORE_US = "git,ca-certificates"
_CERTIFICATES = Path("/usr/local/share/ca-certificates")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")


class Chroot:
    """One fresh machine below a folder; `run` starts a command on it, as if it had booted."""

    def __init__(self, root: Path, pip_cache: Path | None = None) -> None:
        self.root = root
        self.pip_cache = pip_cache
        self.pip = pip_settings.of_this_machine()
        self.shared_memory = "50%"

    def make(self, suite: str, packages: Path, source: Mirror) -> None:
        """Install the smallest system of a release; `packages` keeps what was downloaded."""
        if shutil.which("debootstrap") is None:
            raise BadInput("debootstrap: not installed; apt-get install debootstrap")
        packages.mkdir(parents=True, exist_ok=True)
        command = ["debootstrap", "--variant=minbase", f"--include={_BEFORE_US}"]
        command += [f"--cache-dir={packages}", suite, str(self.root), source.main]
        if not Path("/usr/share/debootstrap/scripts", suite).exists():
            command.append("sid")  # a release that this debootstrap does not know yet
        made = subprocess.run(command, capture_output=True, text=True, timeout=_MAKE_SECONDS)
        if made.returncode != 0:
            raise BadInput(f"debootstrap {suite}: {made.stdout[-500:]}{made.stderr[-500:]}")
        self._settle(suite, source)

    def _settle(self, suite: str, source: Mirror) -> None:
        """Give the machine this one's way to the network and to packages."""
        etc = self.root / "etc"
        (etc / "apt/sources.list").write_text(source.sources(suite))
        (etc / "apt/apt.conf.d/99this-machine").write_text(mirror.settings())
        for name in ("resolv.conf", "hosts"):
            shutil.copy(Path("/etc", name), etc / name)
        if _CERTIFICATES.is_dir():
            there = self.root / _CERTIFICATES.relative_to("/")
            shutil.copytree(_CERTIFICATES, there, dirs_exist_ok=True)
        pip_settings.copy_files(self.pip, self.root)
        if self.run(["update-ca-certificates"], folder="/").returncode != 0:
            raise BadInput(f"{self.root}: update-ca-certificates failed there; make it anew")

    def clone(self, tree: Path) -> None:
        """Clone a tree's present commit to where the machine's user would."""
        target = self.root / TREE.lstrip("/")
        shutil.rmtree(target, ignore_errors=True)
        command = ["git", "clone", "--quiet", "--no-hardlinks", str(tree), str(target)]
        subprocess.run(command, check=True, timeout=300)

    def update(self, tree: Path) -> None:
        """Bring the machine's clone to a tree's present commit, its environment kept."""
        target = self.root / TREE.lstrip("/")
        if not target.exists():
            return self.clone(tree)
        for words in (["fetch", "--quiet", str(tree), "HEAD"], ["reset", "--hard", "FETCH_HEAD"]):
            command = ["git", "-C", str(target), *words]
            subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)
        return None

    def run(
        self, command: list[str], folder: str = TREE, log: Path | None = None, seconds: float = 7200
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run a command as root; what it prints goes to the log."""
        setting = Setting(
            root=str(self.root),
            command=command,
            folder=folder,
            environment=self._environment(),
            shared_memory=self.shared_memory,
            read_only=[str(path) for path in self.pip.folders()],
        )
        if self.pip_cache:
            self.pip_cache.mkdir(parents=True, exist_ok=True)
            setting.shared = {"/root/.cache/pip": str(self.pip_cache)}
        # Each dies with its parent, and the namespaces with the last: nothing outlives this script.
        words = ["setpriv", "--pdeathsig", "KILL", "unshare", "--kill-child", "--fork"]
        words += ["--mount", "--pid", "--ipc", "--uts", "--propagation", "private"]
        words += [sys.executable, "-m", "benchmarks.machines.inside", json.dumps(asdict(setting))]
        with (log or Path(os.devnull)).open("ab") as output:
            return subprocess.run(
                words,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=seconds,
            )

    def _environment(self) -> dict[str, str]:
        """Return what a login gives, and this machine's ways to the network."""
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        login = {
            "PATH": path,
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "SHELL": "/bin/sh",
        }
        proxies = {name: os.environ[name] for name in _PROXIES if name in os.environ}
        return login | proxies | self.pip.variables
