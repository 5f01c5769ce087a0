"""Peak bytes of a learner's own function, compared with known sizes."""

import numpy as np
import pytest

from memlab import InputError
from memlab.lesson.material.allocation import measure
from memlab.runtime.metering.meter import Meter, process_hook


def test_the_result_and_the_temporaries_count_and_the_arguments_do_not():
    x = np.ones(1000)
    allocation = measure(lambda x, y: (x + y) * (x - y), x, y=x)
    assert allocation.peak == 3 * x.nbytes
    assert np.array_equal(allocation.result, np.zeros(1000))
    assert measure(np.add, x, x, out=x).peak == 0


def test_what_is_freed_on_the_way_does_not_add_up():
    def one_after_the_other():
        return [np.ones(1000).sum().item() for _ in range(5)]

    assert 8000 <= measure(one_after_the_other).peak < 8100


@pytest.mark.parametrize(
    ("nbytes", "said"),
    [
        (96, "Your function allocated at most 96 B at one time."),
        (1234, "Your function allocated at most 1,234 B = 1.23 kB at one time."),
    ],
)
def test_the_text_has_every_digit(nbytes, said):
    allocation = measure(np.empty, nbytes, np.uint8)
    assert repr(allocation) == str(allocation) == said


def test_an_error_gives_numpy_its_allocator_back():
    with pytest.raises(ZeroDivisionError):
        measure(lambda: 1 / 0)
    assert process_hook().report is None
    kept = []
    with Meter() as meter:
        kept.append(np.empty(10))
    np.ones(1000)
    assert (meter.live, meter.peak) == (80, 80)
    assert measure(np.empty, 10).peak == 80


def test_what_is_no_function_is_one_sentence():
    with pytest.raises(InputError, match=r"takes a function and then its arguments, got 3; try"):
        measure(3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InputError, match="another measurement is running"):
        measure(lambda: measure(np.ones, 3))
