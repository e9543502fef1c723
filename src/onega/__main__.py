"""``python -m onega``: the command, where no script of that name is on the path."""

import sys

from onega.cli import main

if __name__ == "__main__":
    sys.exit(main())
