"""Write a table of links that bring each lesson to a learner of a hub:
`python -m deploy.links HUB REPOSITORY`.

HUB is the address of the JupyterHub, REPOSITORY that of a Git repository with the lessons in it,
best those that `memlab release` wrote: they hold no solutions. nbgitpuller, which answers such a
link on the hub, copies the repository into the learner's home, merges what is new there, and opens
the lesson; what the learner wrote is never overwritten.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

ROOT = Path(__file__).resolve().parents[1]
OWN = "memlab-lessons"
"""The folder in a learner's home that the repository is copied to."""
TITLE = re.compile(r"^# (.+)", re.MULTILINE)
HEAD = "| lesson | link |\n|---|---|"


def link(hub: str, repository: str, branch: str, notebook: str, folder: str = OWN) -> str:
    """Return the link that opens a notebook of a repository for a learner of a hub.

    Args:
        hub: address of the hub, ``"https://hub.example.org"``.
        repository: address of the repository, as ``git clone`` takes it.
        branch: branch of the repository.
        notebook: path of the notebook in the repository.
        folder: folder in the learner's home that the repository is copied to.

    Raises:
        ValueError: an address is none, or the folder is no single name.

    >>> link("https://hub.example.org/", "https://git.example.org/a/b", "main", "02_network.ipynb")
    'https://hub.example.org/hub/user-redirect/git-pull?repo=https%3A%2F%2Fgit.example.org%2Fa%2Fb\
&branch=main&targetPath=memlab-lessons&urlpath=lab%2Ftree%2Fmemlab-lessons%2F02_network.ipynb'
    """
    for name, address in (("hub", hub), ("repository", repository)):
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise ValueError(f"the {name} must be an address such as https://example.org, got "
                             f"{address!r}")  # fmt: skip
    if not re.fullmatch(r"\w[\w.-]*", folder):
        raise ValueError(f"the folder must be one name, such as {OWN}, got {folder!r}")
    asked = {"repo": repository, "branch": branch, "targetPath": folder,
             "urlpath": f"lab/tree/{folder}/{notebook}"}  # fmt: skip
    query = urlencode(asked, quote_via=quote, safe="")
    return f"{hub.rstrip('/')}/hub/user-redirect/git-pull?{query}"


def table(links: Iterable[tuple[str, str]]) -> str:
    """Return a Markdown table of titles and links."""
    return "\n".join([HEAD, *(f"| {title} | [open]({address}) |" for title, address in links)])


def title(notebook: Path) -> str:
    """Return the heading of a notebook without its question: ``"02 A whole network"``."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown" and (found := TITLE.search("".join(cell["source"]))):
            return found[1].partition(":")[0].strip().replace("|", r"\|")
    return notebook.stem


def main(arguments: list[str]) -> int:
    """Print the table, and return an exit status."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m deploy.links", None, __doc__, formatter_class=raw)
    parser.add_argument("hub", metavar="HUB", help="address of the JupyterHub")
    parser.add_argument("repository", metavar="REPOSITORY", help="address of the Git repository")
    parser.add_argument("--branch", default="main", help="branch of the repository (main)")
    parser.add_argument("--under", default="", help="folder of the lessons in the repository")
    parser.add_argument("--lessons", type=Path, default=ROOT / "lessons", metavar="FOLDER",
                        help="a copy of these lessons here, which says their titles")  # fmt: skip
    given = parser.parse_args(arguments)
    notebooks = sorted(given.lessons.glob("[0-9][0-9]_*.ipynb"))
    if not notebooks:
        parser.error(f"there is no lesson in {given.lessons}, such as 02_network.ipynb; name a "
                     "folder that memlab release wrote")  # fmt: skip
    under = f"{given.under.strip('/')}/" if given.under.strip("/") else ""
    try:
        rows = [(title(path), link(given.hub, given.repository, given.branch, under + path.name))
                for path in notebooks]  # fmt: skip
    except ValueError as error:
        parser.error(str(error))
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
