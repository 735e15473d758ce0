"""``python -m credence`` is the binary."""

from __future__ import annotations

import os
import sys

from ._binary import find
from ._errors import CredenceError


def main() -> None:
    """Run the binary in place of this process."""
    try:
        path = find()
    except CredenceError as e:
        print(f"credence: error: {e.message}\ncredence: hint: {e.hint}", file=sys.stderr)
        sys.exit(1)
    os.execv(path, ["credence", *sys.argv[1:]])


if __name__ == "__main__":
    main()
