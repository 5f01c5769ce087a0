"""The count of the functions between a run and its first kernel: which it sees, which it leaves."""

import sys

import memlab
from benchmarks import functions_walked
from memlab import units
from memlab.assemble.step import training_step
from memlab.runtime.session import Session

MOST = dict(zip(functions_walked.STEPS, (63, 63, 63, 76), strict=True))
"""What a run enters now. One that is more is asked for its reason."""


def small():
    return training_step(memlab.network("one", features=3).linear(2).cross_entropy())


def test_what_is_entered_before_the_first_kernel_is_counted_and_nothing_after():
    found = functions_walked.entered(small)
    assert {"runtime/run:run", "runtime/session:Session.__init__"} <= found
    assert not any(name.startswith("kernels/") for name in found - {"kernels/registry:find"})
    assert not any("<listcomp>" in name or "<module>" in name for name in found)
    assert functions_walked.entered(small) == found


def test_a_function_more_is_seen_and_the_profiler_is_given_back(monkeypatch):
    before, feed = functions_walked.entered(small), Session._copy_inputs_in

    def careless(*given):
        units.short(1)
        return feed(*given)

    def look(frame, event, argument):
        return None

    monkeypatch.setattr(Session, "_copy_inputs_in", careless)
    earlier = sys.getprofile()
    sys.setprofile(look)
    try:
        assert "units:short" in functions_walked.entered(small) - before
        assert sys.getprofile() is look
    finally:
        sys.setprofile(earlier)


def test_every_step_has_a_line_with_its_aim():
    result = functions_walked.run()
    assert [line.name for line in result.lines] == list(functions_walked.STEPS)
    for line in result.lines:
        assert line.aim == functions_walked.SHARE * functions_walked.COUNTED[line.name]
        assert 20 < line.value <= MOST[line.name] < functions_walked.COUNTED[line.name]
