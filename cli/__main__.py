"""The entry point of `./metronome COMMAND`: runs the command and turns errors into exit codes."""

import contextlib
import os
import signal
import sys

from cli import commands
from cli.standard_streams import CannotPrint, lossy_output, open_what_is_closed
from contracts.errors import BadInput
from runner.handing_back import handing_back

_TRACEBACK = "METRONOME_TRACEBACK"  # set: what went wrong unexpectedly is shown in full


def main() -> int:
    """Run the command named by the arguments and return the process's exit code.

    2 stands for bad input, 130 for an interruption, 1 for everything else that went wrong.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as cleanly as Ctrl-C
    open_what_is_closed()
    try:
        with lossy_output(), handing_back(os.environ):
            return commands.main(sys.argv[1:])
    except BadInput as error:
        if error.__cause__ is not None and _TRACEBACK in os.environ:
            raise
        _say(str(error))
        return 2
    except KeyboardInterrupt:
        _say("interrupted; what was recorded stays readable")
        return 130
    except CannotPrint as error:
        _say(str(error))
        return 1
    except OSError as error:
        if _TRACEBACK in os.environ:
            raise
        where = "" if error.filename is None else f"{error.filename}: "
        _say(f"{where}{error.strerror or error}; set {_TRACEBACK}=1 to see what was tried")
        return 1
    except MemoryError:
        _say("memory: there is not enough of it for this; free some, or raise the limit")
        return 1


def _say(sentence: str) -> None:
    with contextlib.suppress(OSError):  # standard error may be a full disk too
        print(f"metronome: {sentence}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
