"""``python -m web.lite [SITE]``: add JupyterLite to a built site."""

import sys
from pathlib import Path

from memlab.errors import InputError
from web.lite.build import build
from web.pyodide import ROOT


def main(arguments: list[str]) -> int:
    """Build and say where; return the exit status."""
    try:
        print(build(Path(arguments[0]) if arguments else ROOT / "build" / "site"))
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
