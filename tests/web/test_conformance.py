"""A page shows what memlab shows natively, byte for byte: on 32 bits, with NumPy alone."""

from __future__ import annotations

import json

import pytest

from tests import conformance
from tests.web.conftest import WHOLE, with_kernels
from web.node import run_code

pytestmark = pytest.mark.measures

ELSEWHERE = ("card 04.left", "card 06.dark")
"""Their truths need a GPU's simulator, so that a page says what is recorded, or digits that a page
loads beside the project."""
QUICK = ("card 01.peak", "card 01.gradients", "card 08.fault", "card 02.output",
         "exercise 01.my_step")  # fmt: skip
"""Cards and exercises that run steps of few bytes."""
IN_TURN = """
import tempfile, memlab
net = memlab.network("small", image=(3, 12, 12)).conv(8, 3, pad=1).relu().conv(8, 3)
step = memlab.training_step(net.relu().flatten().linear(10).cross_entropy())
print(memlab.run(memlab.offload(step, "all"), 4))
folder = tempfile.mkdtemp()
memlab.images(folder, 8, (3, 12, 12))
print(memlab.feed(step, folder, batch=4))
print(memlab.doctor())
for ask in (lambda: memlab.run(step, 2, device="cuda"), lambda: memlab.run(step, 2, host=folder),
            lambda: memlab.explain(step=print, batch=(1, 2))):
    try:
        ask()
    except memlab.InputError as error:
        print(error)
"""


def test_outputs_are_the_same_byte_for_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMLAB_MACHINE", "recorded")
    names = conformance.drawn(WHOLE)
    wanted = conformance.natively(names)
    printed = run_code(conformance.code("shown"), arguments=[json.dumps(names)], seconds=900)
    found = json.loads(printed)
    assert [name for name in names if found[name] != wanted[name]] == []
    assert len(names) >= 79


def test_cards_and_exercises_that_run_steps_find_the_same_truths() -> None:
    names = [name for name in conformance.asked() if name not in ELSEWHERE] if WHOLE else [*QUICK]
    code, arguments = conformance.code("truths"), [json.dumps(names)]
    printed = run_code(code, arguments=arguments, environment=with_kernels(), seconds=900)
    found, wanted = json.loads(printed.splitlines()[-1]), conformance.truths(names)
    assert [name for name in names if found[name] != wanted[name]] == []


def test_what_a_page_lacks_is_said_in_one_sentence() -> None:
    lines = run_code(IN_TURN, environment=with_kernels()).splitlines()
    assert [line for line in lines if line.startswith("residual")] == [
        "residual                   0 B  over 19 operations: before, inside, after",
        "residual  0 B",
    ]
    assert [line for line in lines if line.startswith("threads")] == [
        "threads   no thread can start here: copies and parts of kernels ran in turn",
        "threads   no thread can start here: images are read and trained with in turn",
    ]
    assert lines[-4].startswith("ready · memlab in this web page, Python 3.")
    assert lines[-3:] == [
        "a kernel for a GPU needs numba, which no web page has; do it in the lab on a computer.",
        "a web page has no disk for maps to wait on; try 'ram'.",
        "a model of PyTorch needs torch, which no web page has; do it in the lab on a computer.",
    ]
