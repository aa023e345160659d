"""A virtual machine out of a chroot's files: Debian's own kernel in QEMU, without a network.

Everything is installed in the chroot beforehand. Without KVM the processor is emulated too, and
such a machine is ten to fifty times slower than the one that it runs on.
"""

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.machines.chroot import TREE, Chroot
from benchmarks.machines.outcome import Step
from contracts.errors import BadInput
from contracts.run_directory import RunDirectory

USER = "somebody"
_INIT = Path(__file__).with_name("vm-init.sh")
_SPARE_BYTES = 3 << 30  # room for what the runs write

# The user, and what is run: everything that a virtual machine is used for, as small as it gets.
SMALL = "benchmarks/machines/small.toml"
RUNS = {"native": "/vm/native", "guest": f"/home/{USER}/guest"}
_TESTS = "native_refuses or native_run"
STEPS = [
    ("root", "./metronome doctor"),
    ("root", f"./metronome run {SMALL} --backend native --clock wall --out {RUNS['native']}"),
    (USER, f"./metronome run {SMALL} --backend guest --out {RUNS['guest']}"),
    ("root", f".venv/bin/python -m pytest -q tests/emulation/test_ends.py -k '{_TESTS}'"),
]


def prepare(machine: Chroot, tree: Path, log: Path) -> None:
    """Give the chroot all that is needed without a network: kernels, packages, a user's tree."""
    home = f"/home/{USER}"
    install = "DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends"
    machine.update(tree)
    for command in (
        f"apt-get update && {install} linux-image-amd64",
        f"cd {TREE} && ./metronome test --help && ./metronome kernel",
        f"id {USER} || useradd --create-home {USER}",
        # The environment is in root's tree, and root's home is closed to others.
        f"chmod 755 /root && rm -rf {home}/metronome {home}/.cache",
        f"git clone --quiet {TREE} {home}/metronome && mkdir -p {home}/.cache",
        f"cp -a /root/.cache/metronome {home}/.cache/ && chown -R {USER}: {home}",
    ):
        if machine.run(["sh", "-c", command], folder="/", log=log).returncode != 0:
            raise BadInput(f"{machine.root}: {command!r} failed there; see {log}")


def write_steps(root: Path, steps: list[tuple[str, str]], seconds: int) -> None:
    """Leave the steps where the machine's init reads them."""
    place = root / "vm"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    shutil.copy(_INIT, place / "init")
    (place / "init").chmod(0o755)
    (place / "steps").write_text("".join(f"{user} {command}\n" for user, command in steps))
    (place / "patience").write_text(f"{seconds}\n")


def make_image(root: Path, image: Path) -> None:
    """Write the files below a folder into a file system of its own."""
    used = subprocess.run(["du", "-sxB1", str(root)], capture_output=True, text=True, check=True)
    size = int(used.stdout.split()[0]) * 11 // 10 + _SPARE_BYTES
    image.unlink(missing_ok=True)
    command = ["mkfs.ext4", "-q", "-F", "-m", "0", "-d", str(root), str(image), f"{size >> 10}k"]
    subprocess.run(command, check=True, timeout=3600)


def boot(root: Path, image: Path, console: Path, options: str, seconds: float) -> None:
    """Start the machine and wait until it has powered itself off."""
    kernels = sorted((root / "boot").glob("vmlinuz-*"))
    if not kernels:
        raise BadInput(f"{root}/boot: has no kernel; install linux-image-amd64 there")
    kernel = kernels[-1]
    start = kernel.with_name(kernel.name.replace("vmlinuz", "initrd.img"))
    command = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", *shlex.split(options)]
    command += ["-kernel", str(kernel), "-initrd", str(start), "-no-reboot", "-nic", "none"]
    command += ["-append", "console=ttyS0 root=/dev/vda rw init=/vm/init panic=-1 quiet"]
    command += ["-drive", f"file={image},if=virtio,format=raw,cache=unsafe"]
    command += ["-display", "none", "-monitor", "none", "-serial", f"file:{console}"]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True, timeout=seconds)


def collect(image: Path, folder: Path, steps: list[tuple[str, str]]) -> list[Step]:
    """Take what the steps left out of the image, and return how each ended."""
    for place in ("/vm", RUNS["guest"]):
        command = ["debugfs", "-R", f"rdump {place} {folder}", str(image)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    lines = map(json.loads, (folder / "vm" / "ended").read_text().splitlines())
    return [
        Step(f"{user}: {command}", line["code"], line["ended"] - line["started"])
        for (user, command), line in zip(steps, lines, strict=False)
    ]


def runs(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the summary of each run that was collected."""
    places = {"native": folder / "vm" / "native", "guest": folder / "guest"}
    files = {name: RunDirectory(place).summary for name, place in places.items()}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}
