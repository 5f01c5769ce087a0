"""The source of a submission as the confined process reads it: magics, and signs of patching."""

import pytest

from memlab.classroom import questions
from memlab.classroom.worker.cells import plain_cell
from memlab.classroom.worker.source_check import MOST, signs
from tests.classroom.confined_here import solutions

LESSONS = [f"{number:02}" for number in range(14)]

MAGICS = [
    ("a = 1\nb = a", "a = 1\nb = a"),
    ("%matplotlib inline\na = 1", "pass\na = 1"),
    ("if a:\n    %time f(a)", "if a:\n    f(a)"),
    ("%%time\na = 1", "\na = 1"),
    ("%%bash\nrm -r /", "\n"),
    ("!ls\na = 1", "pass\na = 1"),
    ("files = !ls", "files = None"),
    ("len?", "pass"),
    ("a = 7 % 2\nb = 'x!'", "a = 7 % 2\nb = 'x!'"),
    ("a = '''\n%time\n'''", "a = '''\n%time\n'''"),
    ("def f(:\n    pass", "def f(:\n    pass"),
]


@pytest.mark.parametrize(("source", "code"), MAGICS, ids=lambda given: str(given)[:20])
def test_a_cell_becomes_python_with_the_same_lines(source, code):
    assert plain_cell(source) == code
    assert plain_cell(source).count("\n") == source.count("\n")


PATCHES = [
    ("import numpy as np\nnp.ones = None", "line 2 changes the attribute .ones"),
    ("import numpy as np\ndel np.ones", "line 2 changes the attribute .ones"),
    ("for a.b in c: pass", "line 1 changes the attribute .b"),
    ("with c as a.b: pass", "line 1 changes the attribute .b"),
    ("a.b += 1", "line 1 changes the attribute .b"),
    ("(a.b, c), d = e", "line 1 changes the attribute .b"),
    ("setattr(a, 'b', 1)", "line 1 uses setattr"),
    ("f = eval", "line 1 uses eval"),
    ("globals()['a'] = 1", "line 1 uses globals"),
    ("a.__dict__['b'] = 1", "line 1 uses .__dict__"),
    ("f.__code__", "line 1 uses .__code__"),
    ("import ctypes", "line 1 imports ctypes"),
    ("from sys import modules", "line 1 imports from sys"),
    ("from numpy import ctypeslib", "line 1 imports ctypeslib"),
    ("from memlab import runtime", "line 1 imports runtime"),
    ("import numba", "line 1 imports numba"),
    ("from .a import b", "line 1 imports from a"),
    ("f = (n for n in x).gi_frame", "line 1 uses .gi_frame"),
    ("functools.update_wrapper(np, f, ('ones',))", "line 1 uses .update_wrapper"),
    ("np.testing.runstring('a', {})", "line 1 uses .testing"),
    ("def f(self):\n    return self.__class__", "line 2 uses .__class__"),
    ("import os.path as p", "line 1 imports os.path"),
    ("import gc, threading", "line 1 imports threading"),
    ("warnings.sys.setprofile(None)", "line 1 uses .setprofile"),
    ("a._hidden", "line 1 uses ._hidden"),
    ("from memlab.runtime.metering import meter", "line 1 imports from memlab.runtime.metering"),
    ("import memlab.lesson.guarded_call as g", "line 1 imports memlab.lesson.guarded_call"),
    ("lesson.guarded_call.STARTS.clear()", "line 1 uses .guarded_call"),
    ("def f():\n    import memlab", "line 1 imports memlab inside of a function"),
    ("__builtins__", "line 1 uses __builtins__"),
    ("x = np.memmap('f')", "line 1 uses .memmap"),
    ("b = bytearray(9)", "line 1 uses bytearray"),
    ("np.savetxt(f, x)", "line 1 uses .savetxt"),
    ("frame.to_csv(f)", "line 1 uses .to_csv"),
    ("f('/proc/self/fd/4')", "line 1 names '/proc/self/fd/4'"),
    ("\uff53etattr(a, 'b', 1)", "line 1 uses setattr"),
    ("pandas.eval('a')", "line 1 uses .eval"),
    ("def f(self):\n    self.ones = 1\nf(np)", "line 2 changes the attribute .ones"),
    ("self = random\nself._os", "line 2 uses ._os"),
    ("re.enum.bltns.setattr(np, 'ones', 1)", "line 1 uses .setattr"),
    ("from re.enum import bltns", "line 1 imports from re.enum"),
    ("match np:\n    case object(__dict__=d): pass", "line 2 matches the attribute .__dict__"),
    ("match np:\n    case Any(d): pass", "line 2 matches attributes by their place"),
    ("import copy", "line 1 imports copy"),
]


@pytest.mark.parametrize(("code", "sign"), PATCHES, ids=lambda given: given[:20])
def test_what_could_change_a_measurement_is_a_sign(code, sign):
    assert sign in signs(code)


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_solution_has_a_sign(lesson):
    own = [cell for cell in solutions(lesson) if cell.strip() not in questions.of(lesson).cells]
    assert own
    settings = ["line 1 changes the attribute .choice"] if lesson == "11" else []  # of a view
    assert [sign for cell in own for sign in signs(plain_cell(cell))] == settings


def test_a_class_that_sets_no_attribute_has_no_sign():
    assert signs("class A(list):\n    def __init__(self):\n        self.append(1)") == []


def test_signs_are_few_and_code_that_is_no_python_has_none():
    assert len(signs("\n".join(f"a.b{n} = 1" for n in range(100)))) == MOST
    assert signs("def f(:") == []
    assert signs(f"x = {'-' * 10**4}1") == ["cannot be read as a whole"]
    assert signs("a\0b") == []
