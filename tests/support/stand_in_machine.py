"""Stand-ins for apt, sudo, Python and pip, so that ./metronome sets up in milliseconds."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from contracts.project import ROOT

NOBODY = 65534

PYTHON = """#!/bin/bash
echo "python $*" >>"$STAND_INS/log"
case "$1 $2" in
  "-m venv")
    mkdir -p "$3/bin" "$3/lib/python3.11/site-packages"
    touch "$3/pyvenv.cfg"
    cp "$STAND_INS/python" "$3/bin/python" ;;
  "-m pip") sleep "${PIP_SECONDS:-0}" ;;
  "-m cli") echo "told to:" "${@:3}" ;;
esac
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
        """Start a command as an ordinary user, outside the tree, in a process group of its own."""
        ordinary = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return subprocess.Popen(
            [*(ordinary if os.geteuid() == 0 else []), *command],
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

    def run(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run ./metronome to its end."""
        process = self.start(str(self.script), *arguments, **settings)
        out, err = process.communicate(timeout=30)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

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
            self.system / "usr/bin/python3.11": PYTHON,
            self.place / "bin/sudo": SUDO,
            self.place / "bin/apt-get": APT_GET,
            self.place / "bin/apt-cache": APT_CACHE,
        }
        for path, text in commands.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        (self.system / "usr/bin/python3").symlink_to("python3.11")
        (self.place / "log").touch()
