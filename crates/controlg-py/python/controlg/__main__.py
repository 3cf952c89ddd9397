"""The ``controlg`` command."""

import signal
import sys
from typing import NoReturn

from . import _core, _ranks


def main() -> NoReturn:
    """Runs the command and exits with its exit code."""
    # Python handles SIGINT only when control returns to it, which would be after the whole command.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_core.main(["controlg", *sys.argv[1:]], [sys.executable, "-m", "controlg"], _ranks.of_torchrun()))


if __name__ == "__main__":
    main()
