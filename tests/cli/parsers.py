"""The parsers of the command line, for tests that go through all options."""

from argparse import ArgumentParser
from functools import cache

from memlab import cli


@cache
def parsers() -> dict[str, ArgumentParser]:
    """The parser of every command."""
    (commands,) = (each.choices for each in cli._parser()._actions if each.choices)
    assert isinstance(commands, dict)
    return commands
