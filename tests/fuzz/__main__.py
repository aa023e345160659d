"""`metronome test --fuzz [--count N] [--seed S]`: the fuzzers, longer than in the gate."""

import argparse
import os
import sys

import pytest

from tests.fuzz.bounds import COUNT, SEED


def main() -> int:
    """Try N inputs of each kind and return pytest's exit code."""
    parser = argparse.ArgumentParser(prog="metronome test --fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="inputs of each kind")
    parser.add_argument(
        "--seed", type=int, help="to try the same again (default: others each time)"
    )
    parser.add_argument("tests", nargs="*", help="what else goes to pytest, like -k wire, after --")
    options = parser.parse_args()
    os.environ[COUNT] = str(options.count)
    if options.seed is not None:
        os.environ[SEED] = str(options.seed)
    quick = ["-p", "no:cacheprovider", "-n", "2", "--durations=0"]
    return int(pytest.main(["tests/fuzz", *quick, *options.tests]))


if __name__ == "__main__":
    sys.exit(main())
