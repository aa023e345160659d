"""The command line: `./metronome COMMAND`. It only walks the road from scenario to report."""

import signal
import sys

from cli import commands
from contracts.errors import BadInput


def main() -> int:
    """Run the command that the arguments name, and return the process's exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: cleanly
    try:
        return commands.main(sys.argv[1:])
    except BadInput as error:
        print(f"metronome: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("metronome: interrupted; what was recorded stays readable", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
