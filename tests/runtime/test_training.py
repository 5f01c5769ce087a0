"""Training in several formats, and loss scaling that brings vanished gradients back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import History, InputError, Step, free_memory
from memlab.free_memory import Room
from memlab.lesson import digits
from memlab.lesson.digits import Digits
from memlab.networks.graph import Network
from memlab.runtime.memory_guard import DoesNotFitError
from memlab.runtime.training import Rewrite
from memlab.techniques.precision import MODES as PRECISIONS

pytest.importorskip("sklearn.datasets", reason="scikit-learn brings the digits")

CLOSE = 0.01
"""One percentage point."""
CHANCE = 0.9
SAME = ("in_place", "no_reuse", "offload", "recompute", "relu_masks")
"""The techniques that change no value."""
MODES: dict[str, Rewrite | None] = {
    "fp32": None,
    "mixed fp16": partial(memlab.precision, mode="mixed fp16"),
    "mixed bf16": partial(memlab.precision, mode="mixed bf16"),
    "bf16": partial(memlab.precision, mode="bf16", rounding="stochastic"),
    "unscaled": partial(memlab.precision, mode="mixed fp16", scaling=False),
}


@cache
def on_digits(mode: str) -> History:
    """History of six epochs on the digits; the error at the end is the mean of the last two."""
    net, data = digits.network(), digits.load()
    settings = digits.SETTINGS
    return memlab.train(net, data, rewrite=MODES[mode], batch=64, epochs=6, settings=settings)


@cache
def in_the_dark(mode: str) -> History:
    net, data, settings = digits.dim_network(), digits.dim(), digits.DIM_SETTINGS
    return memlab.train(net, data, rewrite=MODES[mode], epochs=9, settings=settings)


def few(samples: int = 40, seed: int = 0) -> Digits:
    """Samples of two classes, which differ by the sign of their only feature."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, samples)
    x = ((2 * y - 1) * rng.uniform(0.5, 1, samples)).astype(np.float32).reshape(-1, 1)
    return Digits(x, y, x, y)


def tiny(loss: str = "cross_entropy") -> Network:
    end = memlab.network("tiny", features=1).linear(2, name="fc")
    return end.cross_entropy() if loss == "cross_entropy" else end.squared_error()


# -- formats ------------------------------------------------------------------------------------


def test_a_small_network_learns_to_read_digits() -> None:
    history = on_digits("fp32")
    assert history.losses[-1] < 0.2 * history.losses[0]
    assert history.errors[-1] < 0.05


@pytest.mark.parametrize("mode", ["mixed fp16", "mixed bf16", "bf16"])
def test_every_format_ends_within_a_percentage_point_of_fp32(mode: str) -> None:
    exact, history = on_digits("fp32"), on_digits(mode)
    assert exact.error < 0.04
    assert abs(history.error - exact.error) <= CLOSE
    assert not history.broken


def test_small_gradients_vanish_without_a_loss_scale_and_nothing_is_learned() -> None:
    history = in_the_dark("unscaled")
    assert history.error > CHANCE - 0.1
    assert not history.broken
    assert not history.scales


def test_a_loss_scale_brings_them_back() -> None:
    exact, scaled = in_the_dark("fp32"), in_the_dark("mixed fp16")
    assert exact.error < 0.08
    assert abs(scaled.error - exact.error) <= CLOSE
    assert len(scaled.scales) == len(scaled.losses)
    assert min(scaled.scales) >= 2**8


def test_the_gradients_in_the_dark_lie_below_half_of_the_smallest_fp16_number() -> None:
    data, smallest = digits.dim(), memlab.formats.find("fp16").smallest
    step = memlab.training_step(digits.dim_network())
    run = memlab.run(step, 32, data.x[:32], data.y[:32], keep="gradients")
    sizes = np.abs(np.concatenate([gradient.reshape(-1) for gradient in run.gradients.values()]))
    alive = sizes[sizes > 0]
    assert np.mean(alive <= smallest / 2) > 0.99
    assert np.mean(alive * 2**16 <= smallest / 2) < 0.01


def test_the_dim_digits_are_the_same_problem_in_fp32_bit_for_bit() -> None:
    dim, scale = digits.dim(), digits.DIM
    plain = Digits(dim.x / scale, dim.y / scale, dim.x_test / scale, dim.y_test)
    rate = digits.DIM_SETTINGS["rate"]
    dark = memlab.train(digits.dim_network(), dim, epochs=1, settings={"rate": rate})
    rate *= scale**2
    bright = memlab.train(digits.dim_network(), plain, epochs=1, settings={"rate": rate})
    assert [loss * scale**2 for loss in bright.losses] == list(dark.losses)
    assert bright.errors == dark.errors


# -- the history --------------------------------------------------------------------------------


def test_a_history_counts_full_batches_and_tests_after_every_epoch() -> None:
    history = memlab.train(tiny(), few(), batch=16, epochs=3)
    assert (len(history.losses), history.epochs, history.batch) == (3 * (40 // 16), 3, 16)
    step = memlab.training_step(tiny())
    assert history.peak == memlab.plan(step).peak(16)
    assert history.step == step.describe()
    assert history.seconds > 0
    assert history.scales == history.broken == ()


def test_a_seed_decides_parameters_and_order() -> None:
    first, again, other = (memlab.train(tiny(), few(), seed=seed) for seed in (1, 1, 2))
    assert first == replace(again, seconds=first.seconds)
    assert first.losses != other.losses


def test_every_epoch_has_an_order_of_its_own() -> None:
    """At rate 0, each loss is that of its batch."""
    data, orders, due = few(), np.random.default_rng(3), []
    for _ in range(2):
        order = orders.permutation(len(data.x))
        for chosen in (order[:16], order[16:32]):
            step = memlab.training_step(tiny())
            due.append(memlab.run(step, 16, data.x[chosen], data.y[chosen], seed=3).loss)
    history = memlab.train(tiny(), data, batch=16, epochs=2, seed=3, settings={"rate": 0.0})
    assert history.losses == tuple(due)
    assert due[:2] != due[2:]


@pytest.mark.parametrize("mode", ["fp32", "mixed fp16", "bf16"])
def test_the_error_is_that_of_the_parameters_that_were_learned(mode: str) -> None:
    data, rewrite = few(), MODES[mode]
    settings = {"rate": 0.0}
    history = memlab.train(tiny(), data, rewrite=rewrite, epochs=1, seed=2, settings=settings)
    step = memlab.inference_step(tiny())
    step = rewrite(step) if rewrite else step
    output = memlab.run(step, len(data.x), data.x, seed=2).output
    assert output is not None
    assert history.errors == (np.mean(output.astype(np.float32).argmax(1) != data.y),)
    assert history.errors == (1.0,)
    learned = memlab.train(tiny(), data, rewrite=rewrite, epochs=20, seed=2, settings={"rate": 0.5})
    assert learned.errors[-1] == 0


def test_a_technique_rewrites_the_training_step_and_the_one_of_the_tests() -> None:
    seen: list[bool] = []

    def rewrite(step: Step) -> Step:
        seen.append(step.training)
        return replace(step, notes=("rewritten",))

    history = memlab.train(tiny(), few(), rewrite=rewrite, epochs=1)
    assert sorted(seen) == [False, True]
    assert history.step.endswith("rewritten")


TECHNIQUES: dict[str, Rewrite] = {
    **{mode: partial(memlab.precision, mode=mode) for mode in PRECISIONS},
    "scaled": partial(memlab.precision, mode="bf16", scaling=True),
    "8-bit states": memlab.eight_bit_states,
    "8-bit states, mixed": lambda s: memlab.eight_bit_states(memlab.precision(s, "mixed fp16")),
    "winograd": partial(memlab.lowering, algorithm="winograd"),
    **{name: getattr(memlab, name) for name in SAME},
    "all": lambda s: memlab.in_place(memlab.recompute(memlab.relu_masks(memlab.precision(
        memlab.lowering(s, "direct"), "mixed bf16")))),
}  # fmt: skip
"""Every technique, as one function for the training step and the inference step."""


@cache
def a_few_steps(technique: str) -> History:
    """History of six steps of Adam on the digits, and a test. The loss scale starts where no step
    overflows."""
    data, rewrite = digits.load(), TECHNIQUES.get(technique)
    some = Digits(data.x[:96], data.y[:96], data.x_test[:64], data.y_test[:64])
    more: dict[str, Any] = {"optimizer": "adam", "batch": 16, "settings": {"loss_scale": 1024}}
    return memlab.train(digits.network(), some, rewrite=rewrite, epochs=1, **more)


def test_every_technique_has_its_training() -> None:
    public = {name: getattr(memlab, name) for name in memlab.__all__}
    homes = {name: getattr(value, "__module__", "") for name, value in public.items()}
    techniques = {name for name, home in homes.items() if home.startswith("memlab.techniques.")}
    assert techniques == {
        *SAME,
        "accumulate",
        "chunked_loss",  # of language models: tests/techniques/test_chunked_loss.py
        "eight_bit_states",
        "lowering",
        "precision",
        "release",
    }


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_a_network_trains_under_every_technique(technique: str) -> None:
    plain, rewritten = a_few_steps(""), a_few_steps(technique)
    learning = TECHNIQUES[technique](memlab.training_step(digits.network(), "adam"))
    assert rewritten.step == learning.describe() != plain.step
    assert rewritten.peak == memlab.plan(learning).peak(16)
    np.testing.assert_allclose(rewritten.losses, plain.losses, rtol=0.1)


@pytest.mark.parametrize("technique", SAME)
def test_what_computes_the_same_trains_the_same(technique: str) -> None:
    plain, rewritten = a_few_steps(""), a_few_steps(technique)
    assert (rewritten.losses, rewritten.errors) == (plain.losses, plain.errors)


def test_a_squared_error_is_tested_by_the_largest_output() -> None:
    data = few()
    targets = np.eye(2, dtype=np.float32)[data.y]
    history = memlab.train(tiny("squared_error"), replace(data, y=targets), epochs=20)
    assert history.errors[-1] == 0


def test_a_loss_that_is_no_number_is_told_and_no_answer_is_right() -> None:
    data = few()
    far = replace(data, x=data.x * np.float32(1e30))
    history = memlab.train(tiny("squared_error"), replace(far, y=np.eye(2)[data.y]), epochs=2)
    assert history.broken
    assert history.error == 1
    assert f"first in step {history.broken[0]}" in history.text()
    assert len(history.losses) == 2


def test_the_text_holds_the_figures() -> None:
    history = History("a step", 32, (2.0, 0.5), (0.25, 0.125, 0.0), 1_234_567, 1.5, (4.0, 8.0))
    assert str(history).split("\n") == [
        "a step, batch 32",
        "planned peak  1,234,567 B",
        "steps         2 in 3 epochs, 1.5 s",
        "loss          2 at the first step, 0.5 at the last",
        "test error    25.0, 12.5, 0.0 % after each epoch",
        "loss scale    4 at the first step, 8 at the last",
    ]
    assert (history.last, history.error) == (1, 0.0)


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"data": 3}, "data must have the arrays x, y, x_test and y_test, got 3"),
        ({"data": replace(few(), y=few().y[:5])}, "got 40 samples and 5 labels"),
        ({"data": replace(few(), x_test=few().x[:0], y_test=few().y[:0])}, "got 0 samples"),
        ({"batch": 41}, "a batch of 41 needs as many samples, got 40; try a smaller batch"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"optimizer": "momentun"}, "did you mean 'momentum'"),
        ({"settings": {"rat": 1}}, "did you mean 'rate'"),
        ({"network": 3}, "a step is built from a network"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"seed": "a"}, "seed must be a whole number, got 'a'"),
        ({"progress": 2}, "progress must be True or False, got 2"),
        (
            {"rewrite": "in place"},
            "rewrite must be a function of a step, got 'in place'; try memlab",
        ),
        (
            {"rewrite": memlab.training_step(tiny())},
            "rewrite must be a function of a step, got <ste",
        ),
        (
            {"rewrite": lambda _: memlab.training_step(tiny())},
            "rewrite must change the step that it gets, <step: .* inference, .*, got <step: ",
        ),
        ({"rewrite": memlab.plan}, "rewrite must make a step of a step, got <ledger"),
        ({"data": replace(few(), x=few().x * np.float32(np.nan))}, "holds NaN"),
    ],
)
def test_bad_input_gives_one_sentence(given: dict[str, Any], says: str) -> None:
    arguments: dict[str, Any] = {"network": tiny(), "data": few()} | given
    with pytest.raises(InputError, match=says):
        memlab.train(**arguments)


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_memory, "room", lambda: Room(100))
    with pytest.raises(DoesNotFitError, match="refused before anything was allocated"):
        memlab.train(tiny(), few())


def test_two_sessions_fit_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test session keeps its parameters while the network trains, and the other way round."""
    network, data = tiny(), few()
    learning = memlab.plan(memlab.training_step(network, "momentum"))
    testing, batch, tests = memlab.plan(memlab.inference_step(network)), 2, len(data.x_test)
    need = max(
        learning.peak(batch) + testing.after(tests)[-1],
        testing.peak(tests) + learning.after(batch)[-1],
    )
    monkeypatch.setattr(free_memory, "room", lambda: Room(need))
    assert memlab.train(network, data, batch=batch, epochs=1).peak == learning.peak(batch)
    monkeypatch.setattr(free_memory, "room", lambda: Room(need - 1))
    with pytest.raises(DoesNotFitError):
        memlab.train(network, data, batch=batch, epochs=1)
