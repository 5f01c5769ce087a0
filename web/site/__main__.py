"""Build the site: ``python -m web.site [FOLDER] [--serve] [--stick FOLDER]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from memlab.errors import InputError
from web import live
from web.lite.build import build as add_lite
from web.publish.repository import NONE, repository
from web.site import build, serve, stick


def main(arguments: list[str] | None = None) -> int:
    """Build the site and return the exit status."""
    given = _parser().parse_args(arguments)
    try:
        where = repository()
        if where is None:
            print(NONE)
        build.build(given.folder, where, lite=given.lite, names=not given.quick)
        if not given.still:
            live.assemble(given.folder / live.LIVE)
        if given.lite:
            add_lite(given.folder)
        if given.stick:
            stick.carry(given.folder, given.stick)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The site is {(given.stick or given.folder) / ''}.")
    if given.serve:
        serve.serve(given.folder, given.port)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m web.site", description="Build the site.")
    parser.add_argument("folder", nargs="?", type=Path, default=build.BUILD, help="where to write")
    parser.add_argument("--serve", action="store_true", help="then serve it to this machine")
    parser.add_argument("--port", type=int, default=serve.PORT, help="port to serve it at")
    parser.add_argument("--stick", type=Path, metavar="FOLDER",
                        help="also copy it there, with a small server")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="leave out the public names")
    parser.add_argument("--still", action="store_true", help="leave out what runs Python")
    parser.add_argument("--lite", action="store_true", help="add JupyterLite")
    return parser


if __name__ == "__main__":
    sys.exit(main())
