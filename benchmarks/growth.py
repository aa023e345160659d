"""Measures how a round's host time grows: over clients, size of the model, rate of the links.

    python -m benchmarks.growth [--only clients|parameters|rate] [--most 1000] [--figure FILE.png]

FedAvg in a star on the virtual clock; ten samples a client and devices that take no time, so that
what is left is the network and the nodes. Each line is a run: the rounds between the first two and
the last count, without evaluations (they are off the clock, and niced). `nodes` are the guest's
processes, `kernel` is the guest's kernel: packets, queues, and switching between nodes. A frame is
one that crossed a client's link, either way.
"""

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import measured_run
from benchmarks.slow_links import SCENARIO, Usage, packets
from contracts.run_directory import RunDirectory
from protocols.wire import read_file

# Models and the data that they are trained on.
LENET5, MULTICELL, RESNET18 = (
    ("lenet5", "fashionmnist"),
    ("multicell-cnn", "cifar10"),
    ("resnet18", "tiny"),
)
_WARM, _COUNTED = 2, 3  # rounds after which every node has done everything before; and measured


@dataclass(frozen=True)
class Setting:
    """What a run of a series is like; the first series' first run is the one that others change."""

    clients: int = 10
    model: tuple[str, str] = LENET5
    rate: str = "100mbit"

    def scenario(self) -> dict[str, Any]:
        """Return it as a scenario."""
        name, dataset = self.model
        rounds = _WARM + _COUNTED + 1
        return SCENARIO | {
            "task": SCENARIO["task"] | {"model": name, "dataset": dataset},
            "protocol": {"name": "fedavg", "rounds": rounds},
            "topology": {"kind": "star", "clients": self.clients},
            "links": {"client-cloud": {"rate": self.rate, "delay": "10ms"}},
            "limits": {"join": "20min", "round": "2h"},
        }


SERIES: dict[str, tuple[Setting, ...]] = {
    "clients": tuple(Setting(clients=count) for count in (10, 50, 200, 1000)),
    "parameters": tuple(Setting(model=model) for model in (LENET5, MULTICELL, RESNET18)),
    "rate": tuple(
        Setting(model=MULTICELL, rate=rate) for rate in ("1mbit", "10mbit", "100mbit", "1gbit")
    ),
}


@dataclass(frozen=True)
class Line:
    """What one round of a run took."""

    value: float  # clients, parameters, or Mbit/s
    kernel: float  # processor seconds
    nodes: float
    workers: float  # trainings on the host
    clock: float
    emulated: float
    frames: float

    @property
    def dominant(self) -> str:
        """What takes most of the processor's time, with its share."""
        parts = {"kernel": self.kernel, "nodes": self.nodes, "workers": self.workers}
        name = max(parts, key=lambda part: parts[part])
        return f"{name} {parts[name] / sum(parts.values()):.0%}"

    def text(self) -> str:
        """Show it."""
        inside = self.kernel + self.nodes
        return (
            f"{self.value:10g} {inside:8.2f} {self.kernel:7.2f} {self.nodes:7.2f} "
            f"{self.workers:8.2f} {self.clock:8.2f} {self.emulated:9.3f} {self.frames:9.0f} "
            f"{1e6 * inside / self.frames:7.1f}   {self.dominant}"
        )


HEADER = (
    "    guest =  kernel + nodes  workers  by clock  emulated    frames us/frame   most (share)"
)


def measure(series: str, setting: Setting, run_dir: Path, data: Path | None) -> Line:
    """Run a setting; return what each counted round took."""
    meter = measured_run.execute(
        setting.scenario(), run_dir, Usage.now, len(os.sched_getaffinity(0)), data
    )
    first, last = meter.noted[_WARM], meter.noted[_WARM + _COUNTED]
    tensors = read_file(RunDirectory(run_dir).initial_model).tensors.values()
    value = {
        "clients": setting.clients,
        "parameters": sum(tensor.size for tensor in tensors),
        "rate": {"1mbit": 1, "10mbit": 10, "100mbit": 100, "1gbit": 1000}[setting.rate],
    }[series]
    counted = range(_WARM + 1, _WARM + _COUNTED + 1)
    return Line(
        value=value,
        kernel=(last.kernel - first.kernel) / _COUNTED,
        nodes=(last.processes - first.processes) / _COUNTED,
        workers=(last.workers - first.workers) / _COUNTED,
        clock=(last.moment - first.moment) / _COUNTED,
        emulated=(meter.elapsed[_WARM + _COUNTED] - meter.elapsed[_WARM]) / _COUNTED,
        frames=packets(run_dir, counted) / _COUNTED,
    )


def main() -> None:
    """Measure the series, print their lines, and draw them if asked for."""
    options = argparse.ArgumentParser(prog="benchmarks.growth", description=__doc__)
    options.add_argument("--only", choices=SERIES)
    options.add_argument("--most", type=int, default=1000, help="clients at most")
    options.add_argument("--data", type=Path, help="data sets in torchvision's layout")
    options.add_argument("--figure", type=Path, metavar="FILE.png")
    chosen = options.parse_args()
    found: dict[str, list[Line]] = {}
    for series in [chosen.only] if chosen.only else list(SERIES):
        print(f"processor seconds a round over {series}; load {os.getloadavg()[0]:.1f}")
        print(f"{series:>10}{HEADER[2:]}", flush=True)
        for setting in SERIES[series]:
            if setting.clients > chosen.most:
                continue
            with tempfile.TemporaryDirectory(prefix="metronome-growth-") as folder:
                line = measure(series, setting, Path(folder, "run"), chosen.data)
            found.setdefault(series, []).append(line)
            print(line.text(), flush=True)
    if chosen.figure:
        draw(chosen.figure, found)


def short(value: float) -> str:
    """Write a number as people say it: 62 k, 2.2 M."""
    for unit, word in ((1e6, " M"), (1e3, " k")):
        if value >= 10 * unit or (value >= unit and value % unit):
            return f"{value / unit:.{0 if value >= 10 * unit and unit < 1e6 else 1}f}{word}"
    return f"{value:g}"


def draw(path: Path, found: Mapping[str, Sequence[Line]]) -> None:
    """Draw a panel for each series: processor seconds a round, by who used them."""
    from reports.figures.canvas import COLOURS, MARKERS, new_figure, plain_frame, save

    figure = new_figure(4.2 * len(found), 3.4)
    titles = {"clients": "clients", "parameters": "parameters", "rate": "Mbit/s of each link"}
    parts = {"kernel": "guest's kernel", "nodes": "nodes", "workers": "workers (trainings)"}
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for axes, (series, lines) in zip(panels, found.items(), strict=True):
        values = [line.value for line in lines]
        for look, (part, label) in enumerate(parts.items()):
            seconds = [getattr(line, part) for line in lines]
            axes.plot(values, seconds, marker=MARKERS[look], color=COLOURS[look], label=label)
        axes.set(xscale="log", yscale="log", xlabel=titles[series])
        axes.set_xticks(values, [short(value) for value in values])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g}")
        plain_frame(axes)
    panels[0].set_ylabel("processor seconds a round")
    panels[0].legend(frameon=False)
    save(figure, path)


if __name__ == "__main__":
    main()
