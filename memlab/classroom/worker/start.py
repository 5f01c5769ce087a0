"""Start of a process that runs a submission: it gives up what it may, then serves.

``python -I -S start.py SETTINGS``, with the settings as JSON. It is the first code in that process,
and imports nothing of memlab's before it has given up its rights.
"""

import json
import os
import resource
import sys
from typing import Any

Settings = dict[str, Any]


def give_up(settings: Settings) -> None:
    """Give up the rights of root, and what is above each limit."""
    for name, most in settings["limits"].items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    if settings["user"]:
        os.setgroups([])
        os.setresgid(*3 * [settings["user"]])
        os.setresuid(*3 * [settings["user"]])
    os.umask(0o077)


def keep(*pipes: int) -> None:
    """Close all descriptors but the standard ones and these."""
    last = 2
    for pipe in sorted(pipes):
        os.closerange(last + 1, pipe)
        last = pipe
    os.closerange(last + 1, 4096)


def start(settings: Settings) -> None:
    """Serve one submission, or try what a submission may not do."""
    keep(settings["reads"], settings["writes"])
    give_up(settings)
    sys.path += settings["packages"]
    sys.path.insert(0, settings["copy"])
    from memlab.classroom.channel import Channel

    channel = Channel(settings["reads"], settings["writes"], settings["most"])
    if settings["probe"]:
        from memlab.classroom.worker.probe import report

        channel.send(report(channel.receive()))
    else:
        from memlab.classroom.worker.session import serve

        serve(channel)


if __name__ == "__main__":
    start(json.loads(sys.argv[1]))
