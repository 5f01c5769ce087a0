"""Mutants that are drawn by hand: all are made, found again in another version, and planted."""

import importlib.util
from pathlib import Path

import pytest

from tests import mutants

CODE = '''"""A module."""
TALL = 3


class Box:
    """A box."""

    def fits(self, wide: int = 2) -> bool:
        """Whether it fits."""
        if wide < TALL and wide:
            print("it", "fits")
        return min(wide, TALL) + 1 == TALL
'''
CHANGES = [
    ("", "3", "4"), ("", "2", "3"), ("Box.fits", "wide < TALL", "(wide <= TALL)"),
    ("Box.fits", "wide < TALL and wide", "(wide < TALL or wide)"),
    ("Box.fits", "wide < TALL and wide", "(not (wide < TALL and wide))"),
    ("Box.fits", 'print("it", "fits")', "(print('fits', 'it'))"),
    ("Box.fits", 'print("it", "fits")', "pass"), ("Box.fits", "min", "max"),
    ("Box.fits", "min(wide, TALL)", "(min(TALL, wide))"), ("Box.fits", "1", "2"),
    ("Box.fits", "min(wide, TALL) + 1", "(min(wide, TALL) - 1)"),
    ("Box.fits", "min(wide, TALL) + 1 == TALL", "(min(wide, TALL) + 1 != TALL)"),
    ("Box.fits", "return min(wide, TALL) + 1 == TALL", "return None"),
]  # fmt: skip
"""Every change of it."""


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of the module, from the folder that the test is in."""
    monkeypatch.chdir(tmp_path)
    Path("memlab").mkdir()
    Path("memlab/box.py").write_text(CODE, "utf-8")
    return "memlab/box.py"


def test_all_changes_of_a_file_are_made(box: str) -> None:
    made = [(mutant.function, mutant.old, mutant.new) for mutant in mutants.mutants(box)]
    assert sorted(made) == sorted(CHANGES)


def test_a_mutant_is_found_again_in_another_file_and_class_unless_its_line_changed(
    box: str,
) -> None:
    before = mutants.drawn(seed=7, count=5)
    Path(box).rename("memlab/crate.py")
    Path("memlab/crate.py").write_text(f"LONG = 1\n{CODE}".replace("Box", "Crate"), "utf-8")
    now = mutants.again(before)
    assert [mutant and mutant.line for mutant in now] == [mutant.line for mutant in before]
    Path("memlab/crate.py").write_text(CODE.replace("TALL", "HIGH"), "utf-8")
    assert None in mutants.again(before)


def test_a_function_is_given_the_code_of_a_mutant(box: str) -> None:
    spec = importlib.util.spec_from_file_location("box", box)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.Box().fits()
    mutant = next(mutant for mutant in mutants.mutants(box) if mutant.new == "return None")
    mutants.plant(mutant, [module.Box.fits])
    assert module.Box().fits() is None
