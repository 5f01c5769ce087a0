"""``python -m web.publish [SITE]``: check a built site, and fail if it must not be published."""

import sys
from pathlib import Path

from memlab.errors import InputError
from web.publish.check import complaints
from web.pyodide import ROOT


def main(arguments: list[str]) -> int:
    """Say what is wrong with a site; return the exit status."""
    site = Path(arguments[0]) if arguments else ROOT / "build" / "site"
    try:
        found = list(complaints(site))
    except InputError as error:
        found = [str(error)]
    print(*found or ["The site has what it should have."], sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
