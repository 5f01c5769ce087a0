"""memlab on The Littlest JupyterHub: `deploy/tljh/install.sh` puts this file into
`/opt/tljh/config/jupyterhub_config.d`. The memory of a learner is set with
`tljh-config set limits.memory`, and `docs/hub.md` says to what and why.
"""

c = get_config()  # type: ignore[name-defined]  # noqa: F821  # JupyterHub defines it

c.Spawner.environment.update(
    {
        # One file of answers for each learner, in their own home.
        "MEMLAB_PROGRESS": "~/progress.json",
        # Planned seconds are those of the recorded machine, as in the texts of the lessons.
        "MEMLAB_MACHINE": "recorded",
        # Kernels that root compiled: learners read them, and write only to their own cache.
        "MEMLAB_SHARED_CACHE": "/opt/tljh/memlab/kernels",
        # Without these, every learner's kernel starts one thread for each core of the machine.
        "NUMBA_NUM_THREADS": "2",
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
    }
)
# Loading JupyterLab takes longer when a whole class begins at once.
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120
