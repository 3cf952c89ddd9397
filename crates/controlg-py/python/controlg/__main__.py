"""The program ``controlg``."""

import signal
import sys
from typing import NoReturn

from . import _core


def main() -> NoReturn:
    """Does what was typed and leaves with the program's exit code."""
    # Python would only note an interrupt until the program returns to it, which it does when all is done.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_core.main(["controlg", *sys.argv[1:]], [sys.executable, "-m", "controlg"]))


if __name__ == "__main__":
    main()
