"""The namespaces of a native run, made for real, on the machine itself and in a chroot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.project import ROOT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="native runs need root")

LOOK = """
import subprocess, sys
from netem.backends.native import into_namespaces
inside = "import os; print(os.readlink('/proc/self/ns/net'), *os.listdir('/proc'))"
sys.exit(subprocess.run([*into_namespaces(), sys.executable, "-c", inside]).returncode)
"""
# A root that is an ordinary directory, as where a chroot was made by hand or by debootstrap.
IN_A_CHROOT = """
set -eu
cd "$1"
for folder in /*; do
  [ -d "$folder" ] && [ ! -h "$folder" ] || { cp -a "$folder" ".$folder"; continue; }
  mkdir ".$folder"
  mount --rbind "$folder" ".$folder"
done
shift
exec chroot . "$@"
"""


def looked(*before: str) -> str:
    command = [*before, sys.executable, "-c", LOOK]
    done = subprocess.run(
        command,
        cwd="/",
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_native_run_is_alone_in_its_namespaces() -> None:
    network, *names = looked().split()

    assert network != os.readlink("/proc/self/ns/net")
    assert [name for name in names if name.isdigit()] == ["1"]


def test_also_in_a_chroot_and_the_machines_mounts_stay_as_they_are(tmp_path: Path) -> None:
    before = Path("/proc/self/mountinfo").read_text()

    alone = ("unshare", "--mount", "--propagation", "slave")
    network, *names = looked(*alone, "sh", "-c", IN_A_CHROOT, "sh", str(tmp_path)).split()

    assert network != os.readlink("/proc/self/ns/net")
    assert [name for name in names if name.isdigit()] == ["1"]
    assert Path("/proc/self/mountinfo").read_text() == before
