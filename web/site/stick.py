"""Folder for a stick: the site, a small server, and a file that starts it on each system."""

from __future__ import annotations

import shutil
from pathlib import Path

from memlab.errors import InputError
from web.site import serve

SITE, SERVER = "site", "serve.py"
UNIX = '#!/bin/sh\ncd "$(dirname "$0")" && exec python3 serve.py site --open\n'
STARTS = {
    "start-windows.bat": (
        "@echo off\r\n"
        'cd /d "%~dp0"\r\n'
        "where py >nul 2>nul && (py -3 serve.py site --open & goto :end)\r\n"
        "where python >nul 2>nul && (python serve.py site --open & goto :end)\r\n"
        "echo Python 3 is not installed: open site\\index.html in a browser to read.\r\n"
        ":end\r\n"
        "pause\r\n"
    ),
    "start-macos.command": UNIX,
    "start-linux.sh": UNIX,
}
"""File that starts the server, by its name; it says on which system."""
README = f"""memlab on a stick

Everything is in the folder {SITE}; no network is needed.

To work with the lessons, start the small server that lies here. It needs Python 3.9 or newer.

  Windows   double-click start-windows.bat
  macOS     double-click start-macos.command (the first time: right-click, Open)
  Linux     in a terminal in this folder: sh start-linux.sh
  anywhere  python3 {SERVER} {SITE} --open

A browser opens. If none does, open the address that the window names, such as
http://{serve.HOST}:{serve.PORT}/ . Only this machine can reach it. Ctrl+C, or closing the window,
stops the server. Your answers are kept by the browser of this machine, and not on the stick:
export them before you leave.

Without Python: open {SITE}/index.html in a browser. Texts and pictures are there; cells do not run.
"""


def carry(site: Path, folder: Path) -> None:
    """Copy a site that is built to a folder for a stick.

    Args:
        site: folder of the site.
        folder: where to write; a site that it holds is replaced.

    Raises:
        InputError: the folder holds something else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known = {SITE, SERVER, "README.txt", *STARTS}
    others = sorted(path.name for path in folder.iterdir() if path.name not in known)
    if others:
        raise InputError(f"{folder} holds {others[0]} already; name an empty folder.")
    shutil.rmtree(folder / SITE, ignore_errors=True)
    shutil.copytree(site, folder / SITE)
    shutil.copyfile(serve.__file__, folder / SERVER)
    (folder / "README.txt").write_text(README, encoding="utf-8")
    for name, text in STARTS.items():
        (folder / name).write_bytes(text.encode())
        (folder / name).chmod(0o755)
