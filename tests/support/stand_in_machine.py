"""Stand-ins for apt, sudo, Python and pip, so that ./metronome sets up in milliseconds."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from contracts.project import ROOT

NOBODY = 65534
# A loaded machine may take long to start a few dozen processes; what hangs takes longer.
PATIENCE = 120.0

PYTHON = r"""#!/bin/bash
echo "python $*" >>"$STAND_INS/log"
case "$*" in
  "-m venv "*)
    site=$3/lib/$(basename "$(readlink -f "$0")")/site-packages
    mkdir -p "$3/bin" "$site"
    touch "$3/pyvenv.cfg"
    cp "$STAND_INS/python" "$3/bin/python" ;;
  "-m pip index "*) echo "Available versions: ${PIP_OFFERS-2.13.0+cpu, 2.13.0}" ;;
  "-m pip install "*--target*)
    [[ ! ${NO_UV-} ]] || exit 1
    target=${@: -2:1}
    mkdir -p "$target/bin"
    cp "$STAND_INS/uv" "$target/bin" ;;
  "-m pip install "*)
    while [[ ${PIP_AWAITS_KERNEL-} && ! -e $STAND_INS/kernel.pid ]]; do sleep 0.01; done
    while [[ ${PIP_AWAITS_KERNEL-} == end ]] &&
      grep -q 'State:.[^ZX]' "/proc/$(<"$STAND_INS/kernel.pid")/status"; do sleep 0.01; done
    sleep "${PIP_SECONDS:-0}"
    cd "${0%/bin/*}"/lib/python3.*/site-packages
    mkdir -p torch-2.13.0+cpu.dist-info
    exit "${PIP_STATUS:-0}" ;;
  "-B -m netem.guest.kernel")
    trap 'kill $!; echo "kernel ended" >>"$STAND_INS/log"; exit' TERM
    sleep "${KERNEL_SECONDS:-0}" &
    echo $$ >"$STAND_INS/kernel.pid.new"
    mv "$STAND_INS/kernel.pid.new" "$STAND_INS/kernel.pid"
    wait ;;
  "-m cli"*)
    echo "HOME=$HOME bytecode=${PYTHONDONTWRITEBYTECODE-}" >"$STAND_INS/environment"
    echo "told to:" "${@:3}"
    sleep "${CLI_SECONDS:-0}" ;;
esac
"""
UV = """#!/bin/bash
echo "uv $* connect=$UV_HTTP_CONNECT_TIMEOUT retries=${UV_HTTP_RETRIES-}" >>"$STAND_INS/log"
exit "${UV_STATUS:-0}"
"""
DF = """#!/bin/bash
printf 'Avail\\n%sM\\n' "${FREE_MB:-100000}"
"""
SUDO = """#!/bin/bash
[[ ${SUDO_WORKS-} ]] || exit 1
shift
exec "$@"
"""
APT_GET = """#!/bin/bash
echo "apt-get $*" >>"$STAND_INS/log"
for package in "$@"; do
  [[ ! -f $STAND_INS/packages/$package ]] || touch "$(<"$STAND_INS/packages/$package")"
done
"""
APT_CACHE = r"""#!/bin/bash
candidate=1.0
[[ $2 != "${UNOFFERED-}" ]] || candidate="(none)"
printf '%s:\n  Installed: (none)\n  Candidate: %s\n' "$2" "$candidate"
"""


@dataclass
class Machine:
    """A tree and a system root under `place`, with everything installed but the environment."""

    place: Path
    tree: Path = field(init=False)
    system: Path = field(init=False)
    markers: dict[str, Path] = field(init=False)
    started: list[subprocess.Popen[str]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.tree = self.place / "a tree"
        self.system = self.place / "system root"
        self.tree.mkdir()
        for name in ("metronome", "pyproject.toml", "requirements.txt", "requirements-dev.txt"):
            shutil.copy2(ROOT / name, self.tree)
        self._install_packages()
        self._install_stand_ins()
        if os.geteuid() == 0:
            for path in [self.place, *self.place.rglob("*")]:
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    @property
    def script(self) -> Path:
        return self.tree / "metronome"

    @property
    def venv(self) -> Path:
        return self.tree / ".venv"

    def log(self) -> str:
        """Return what the stand-ins were asked to do so far."""
        return (self.place / "log").read_text()

    def remove(self, *packages: str) -> None:
        for package in packages:
            self.markers[package].unlink()

    def start(self, *command: str, **settings: str) -> subprocess.Popen[str]:
        """Start a command as an ordinary user, outside the tree, in a process group of its own.

        With SUDO_UID among its settings it is root's, as if started with sudo.
        """
        ordinary = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        drop = os.geteuid() == 0 and "SUDO_UID" not in settings
        process = subprocess.Popen(
            [*(ordinary if drop else []), *command],
            cwd=self.system,
            env={
                "PATH": f"{self.place}/bin:{os.environ['PATH']}",
                "STAND_INS": str(self.place),
                "METRONOME_SYSROOT": str(self.system),
                **settings,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run ./metronome to its end."""
        process = self.start(str(self.script), *arguments, **settings)
        out, err = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def end(self) -> None:
        """End what is left of all that was started, and wait until it is gone."""
        deadline = time.monotonic() + PATIENCE
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                while time.monotonic() < deadline:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.poll()
                    time.sleep(0.01)

    def wait_for(self, text: str, file: str = "log") -> str:
        """Wait until a stand-in has written this, and return all that is in the file."""
        path = self.place / file
        deadline = time.monotonic() + PATIENCE
        while not path.exists() or text not in path.read_text():
            assert time.monotonic() < deadline, f"{text!r} is not in {file} after {PATIENCE} s"
            time.sleep(0.01)
        return path.read_text()

    def give_python(self, minor: int, default: bool = True) -> None:
        """Install this Python with its ensurepip, and let python3 be it."""
        ensurepip = self.system / f"usr/lib/python3.{minor}/ensurepip/__init__.py"
        ensurepip.parent.mkdir(parents=True, exist_ok=True)
        ensurepip.touch()
        self._install({self.system / f"usr/bin/python3.{minor}": PYTHON})
        if default:
            (self.system / "usr/bin/python3").unlink(missing_ok=True)
            (self.system / "usr/bin/python3").symlink_to(f"python3.{minor}")

    def _install_packages(self) -> None:
        script = (ROOT / "metronome").read_text()
        listed = re.findall(r'^  "([\w.-]+) (/\S+)"$', script, re.MULTILINE)
        listed.append(("python3-venv", "/usr/lib/python3.11/ensurepip/__init__.py"))
        self.markers = {name: self.system / file[1:].replace("*", "1") for name, file in listed}
        known = self.place / "packages"
        known.mkdir()
        for name, marker in self.markers.items():
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()
            (known / name).write_text(str(marker))
        lists = self.system / "var/lib/apt/lists"
        lists.mkdir(parents=True)
        (lists / "main_Packages").touch()

    def _install_stand_ins(self) -> None:
        commands = {
            self.place / "python": PYTHON,
            self.place / "uv": UV,
            self.place / "bin/df": DF,
            self.place / "bin/sudo": SUDO,
            self.place / "bin/apt-get": APT_GET,
            self.place / "bin/apt-cache": APT_CACHE,
        }
        self._install(commands)
        self.give_python(11)
        (self.place / "log").touch()

    @staticmethod
    def _install(commands: dict[Path, str]) -> None:
        for path, text in commands.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
