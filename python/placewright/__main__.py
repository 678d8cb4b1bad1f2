"""``python -m placewright ARGS``: the program `placewright`."""

import os
import sys

from ._find import program
from .errors import PlacewrightError


def main() -> None:
    """Becomes the program, with the arguments of this process. Exits with 6 where there is none.

    Models of transformers (``hf:PATH``) are recorded with this Python, unless another one is named.
    """
    try:
        path = program()
    except PlacewrightError as error:
        print(f"placewright: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    os.environ.setdefault("PLACEWRIGHT_PYTHON", sys.executable)
    os.execv(path, ["placewright", *sys.argv[1:]])


if __name__ == "__main__":
    main()
