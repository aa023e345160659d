"""Writes a small made-up run directory with all that a finished run leaves."""

from pathlib import Path

from contracts.run_directory import RunDirectory
from reports.finish import RunFacts, finish
from scenarios import loader
from tests.support.fake_run import FakeRun
from tests.support.scenario_trees import star_scenario

_FACTS = RunFacts("star", "fedavg", "virtual", "guest", 1, 0.3, 9.0, [], None)


def finished_run(directory: Path) -> RunDirectory:
    """Write the run of a star over two rounds, and finish it."""
    FakeRun(directory, rounds=2)
    files = RunDirectory(directory)
    files.scenario.write_text(loader.dump(loader.check(star_scenario())))
    files.learning.write_text('{"dataset": "tiny", "data_dir": null, "model": "tiny-mlp"}')
    files.holdings.write_text("client,class,samples\nclient1,0,600\nclient2,1,600\nclient3,2,600\n")
    files.probes.write_text("[]")
    files.varying.write_text('{"traces": [], "traffic": []}')
    finish(directory, _FACTS)
    return files
