"""Command lines that are run in this process."""

import json

import pytest

from memlab import cli


@pytest.fixture
def run(capsys):
    """Run a command line; give back its exit code, stdout and stderr."""

    def call(*words):
        code = cli.main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def as_json(run):
    def call(*words):
        code, out, err = run(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call
