"""``python -m trueness`` is the command ``trueness``."""

import sys

from trueness.cli import main

if __name__ == "__main__":
    sys.exit(main())
