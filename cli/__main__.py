"""The entry point of `./metronome COMMAND`: runs the command and turns errors into exit codes."""

import os
import signal
import sys

from cli import commands
from contracts.errors import BadInput
from runner.handing_back import handing_back


def main() -> int:
    """Run the command named by the arguments and return the process's exit code.

    2 stands for bad input, 130 for an interruption.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as cleanly as Ctrl-C
    try:
        with handing_back(os.environ):
            return commands.main(sys.argv[1:])
    except BadInput as error:
        print(f"metronome: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("metronome: interrupted; what was recorded stays readable", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
