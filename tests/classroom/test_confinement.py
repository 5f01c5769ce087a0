"""Each limit of a submission's process is there, and a trial finds it where it is not."""

import os
import subprocess
from dataclasses import replace

import pytest

from memlab import lesson_folders
from memlab.classroom import confinement as module
from memlab.classroom import control_groups, shown_folders, worker_copy
from memlab.classroom.confinement import Confinement, confined
from memlab.errors import InputError
from tests.classroom.confined_here import LIMITS, linux

pytestmark = [pytest.mark.measures, linux]  # starts processes


def test_what_must_not_be_possible_is_not(confinement):
    assert not confinement.trusted
    assert "confined by bubblewrap" in confinement.said
    assert module._possible(confinement) == []


def without(name, *values):
    """The command without one of its arguments and the values of that one."""
    return lambda command: [part for part in command if part not in (name, *values)]


def shows(path):
    """The command with a folder that is shown as it is, after everything else."""

    def changed(command):
        place = command.index("--remount-ro")
        parts = [*shown_folders.parents([path]), "--bind", str(path), str(path)]
        return [*command[:place], *parts, *command[place:]]

    return changed


def unlimited(name):
    """The settings without one limit."""

    def changed(settings):
        return {**settings, "limits": {n: m for n, m in settings["limits"].items() if n != name}}

    return changed


PLANTED = {
    "network": (without("--unshare-net"), None, True),
    "processes": (None, unlimited("NPROC"), False),
    "open files": (None, unlimited("NOFILE"), True),
    "disk": (lambda command: [part if part != str(4 * 2**20) else str(2**28) for part in command],
             None, True),
    "read the answers": (shows(lesson_folders.PACKAGE), None, True),
    "memory": (None, unlimited("AS"), False),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_trial_finds_a_limit_that_is_missing(confinement, monkeypatch, name):
    command, settings, groups = PLANTED[name]
    before, told = Confinement._command, Confinement._settings
    if command:
        monkeypatch.setattr(Confinement, "_command", lambda *a: command(before(*a)))
    if settings:
        monkeypatch.setattr(Confinement, "_settings", lambda *a: settings(told(*a)))
    here = confinement if groups else replace(confinement, folders=None)
    assert module._possible(here) == [name]


@pytest.mark.skipif(
    getattr(os, "geteuid", int)() != 0, reason="only root can write where others cannot"
)
def test_a_trial_finds_a_folder_that_can_be_written(confinement, monkeypatch, tmp_path):
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    monkeypatch.setattr(module, "_closed_folders", lambda copy: [open_folder])
    before = Confinement._command
    monkeypatch.setattr(Confinement, "_command", lambda *a: shows(open_folder)(before(*a)))
    assert module._possible(confinement) == ["write outside"]
    assert not list(open_folder.iterdir())


def test_without_control_groups_each_process_has_limits(confinement):
    here = replace(confinement, folders=None)
    assert module._possible(here) == []
    assert "for each process" in here.said


def test_an_account_without_rights_uses_a_space_of_its_own(confinement):
    here = replace(confinement, drops=False)
    names = module._possible(here)
    assert names == [], "bubblewrap could not make a user space"


def test_where_it_cannot_start_one_sentence_has_a_recipe(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"is not installed.*docker run.*--trusted"), \
            confined(LIMITS):  # fmt: skip
        raise AssertionError
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho bwrap: setting up uid map: denied >&2\nexit 1\n")
    broken.chmod(0o755)
    said = r"does not start here \(bwrap: setting up uid map: denied\)"
    with pytest.raises(InputError, match=said), confined(LIMITS):
        raise AssertionError


def test_trusted_submissions_are_said_to_be(confinement):
    with confined(LIMITS, trusted=True) as trusted:
        assert trusted.trusted
        assert "not confined" in trusted.said


def test_a_process_that_ends_leaves_nothing(confinement):
    folders = control_groups.find()
    with confinement.worker(LIMITS) as worker:
        assert worker.group is None or worker.group.memory.exists()
    if folders is not None:
        assert not [*folders.memory.glob(f"memlab-{os.getpid()}-*")]


def test_the_copy_has_all_that_is_needed_and_no_answer(tmp_path):
    worker_copy.write(tmp_path)
    texts = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    for secret in ("lesson_13", "Least number of tokens", "[ask.", "[task."):
        assert secret not in texts
    code = (
        f"import sys; sys.path[:] = [{str(tmp_path)!r}, *sys.path, *{shown_folders.packages()!r}]; "
        "import memlab.classroom.worker.session, memlab.classroom.worker.probe, numpy\n"
        "from memlab.runtime.metering.meter import Meter\n"
        "with Meter() as meter: numpy.ones(9)\n"
        "assert meter.peak >= 72"
    )
    subprocess.run([shown_folders.interpreter(), "-I", "-S", "-c", code], check=True)
