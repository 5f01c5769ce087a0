"""The spawner of a JupyterHub for a trial on one machine, and the file that configures it.

Each learner's server is in a control group of its own, with the limit that ``Spawner.mem_limit``
says. This is what The Littlest JupyterHub lets systemd do, and a cluster its containers. All
servers belong to the same user of the system: good for a trial, and for nothing else.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from jupyterhub.spawner import SimpleLocalProcessSpawner

from tests.classroom import memory_group

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
GIB = 2**30
ROOM = "room"
"""Password of everybody in the trial."""
CONFIG = """c = get_config()
load_subconfig({snippet!r})
c.JupyterHub.spawner_class = "tests.classroom.local_hub.LimitedSpawner"
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.JupyterHub.db_url = "sqlite://"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.ConfigurableHTTPProxy.command = [{proxy!r}]
c.ConfigurableHTTPProxy.pid_file = {home!r} + "/proxy.pid"
c.JupyterHub.cookie_secret_file = {home!r} + "/cookie_secret"
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = "room"
c.Authenticator.allow_all = True
c.Spawner.mem_limit = {limit}
c.Spawner.default_url = "/lab"
c.Spawner.args = ["--allow-root", "--LabApp.expose_app_in_browser=True",
                  "--LabApp.extension_manager=readonly"]
c.Spawner.environment.update({environment!r})
# as on a server: nobody can write beside the package, and each learner compiles into their own home
c.Spawner.environment.update(
    {{"NUMBA_CACHE_DIR": lambda spawner: spawner.home_dir + "/.cache/numba"}})
c.SimpleLocalProcessSpawner.home_dir_template = {home!r} + "/{{username}}"
"""


class LimitedSpawner(SimpleLocalProcessSpawner):
    """Server of a learner in a control group of its own, which is removed with it."""

    group: memory_group.MemoryGroup | None = None

    async def start(self) -> Any:
        self.group = memory_group.make(self.user.name, int(self.mem_limit))
        Path(self.home_dir).mkdir(exist_ok=True)
        (Path(self.home_dir) / "group.json").write_text(json.dumps(str(self.group.folder)))
        # JupyterHub adds the command of the server as one word, for a shell
        self.shell_cmd = self.group.entering("/bin/sh", "-c", 'eval "exec $0"')
        return await super().start()

    async def stop(self, now: bool = False) -> None:
        await super().stop(now)
        if self.group:
            self.group.remove()
            self.group = None


def configuration(home: Path, ports: tuple[int, int, int], environment: dict[str, str]) -> str:
    """Text of the file that configures the hub; what The Littlest JupyterHub is given is in it."""
    port, hub_port, api_port = ports
    snippet = DEPLOY / "tljh" / "jupyterhub_config.d" / "memlab_hub.py"
    return CONFIG.format(
        snippet=str(snippet), port=port, hub_port=hub_port, api_port=api_port, home=str(home),
        proxy=proxy(), limit=GIB, environment=environment,
    )  # fmt: skip


def proxy() -> str:
    """Path of configurable-http-proxy: in the path, or where npm put it beside this Python."""
    beside = Path(sys.prefix) / "node_modules" / ".bin" / "configurable-http-proxy"
    return shutil.which("configurable-http-proxy") or (str(beside) if beside.exists() else "")
