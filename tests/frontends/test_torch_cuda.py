"""A step that is recorded for a card has the operators of a CUDA device, and leaves PyTorch as it
was."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from difflib import unified_diff
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import memlab
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from memlab.frontends.torch.cuda import attention, autocast
from memlab.frontends.torch.cuda.attention import AttentionCall
from memlab.frontends.torch.cuda.operators import _COMPOSED, CudaOutputs, cuda_operators
from memlab.frontends.torch.cuda.replaced_kernels import AUTOCAST, registered
from memlab.frontends.torch.real_outputs import Fakes
from memlab.frontends.torch.tensor_modes import quiet
from tests.frontends import cuda_modules
from tests.frontends.cuda_modules import CASES, EXCEPTIONS, PATH, UPDATES, Operators

WITHOUT_FUSED_ATTENTION = (3, 7)
"""A capability without it, as a device that is not there."""


# -- operator by operator ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def truth() -> dict[str, dict[str, Operators | None]]:
    """Operators on fake tensors of a CUDA device, by case and format."""
    stored = json.loads(PATH.read_text(encoding="utf-8"))
    written, installed = (
        str(version).partition("+")[0] for version in (stored["torch"], torch.__version__)
    )
    if written != installed:
        pytest.skip(
            f"the operators are those of PyTorch {written}, and {installed} is installed; write "
            f"them again with a build for CUDA: {cuda_modules.COMMAND}"
        )
    return cuda_modules.unpacked(stored)


@pytest.mark.parametrize("name", [name for name in (*CASES, *UPDATES) if name not in EXCEPTIONS])
def test_recording_has_the_operators_of_cuda(name: str, truth: Any) -> None:
    recorded = operators_on_card(name)
    assert set(recorded) == set(truth[name])
    for format, operators in recorded.items():
        expected = truth[name][format]
        assert difference(expected.forward, operators.forward) == "", format
        assert difference(expected.backward, operators.backward) == "", format
        assert operators.saved == expected.saved, format


def test_exceptions_are_few_and_differ(truth: Any) -> None:
    assert len(EXCEPTIONS) <= 8
    for name in EXCEPTIONS:
        if all(truth[name].values()):
            assert operators_on_card(name) != truth[name], name


def operators_on_card(name: str) -> dict[str, Operators]:
    """Operators of a case with the kernels of a recording for a card, by format."""
    with cuda_operators(WITHOUT_FUSED_ATTENTION), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of modules, about how they are used
        return {
            format: cuda_modules.operators(case, format, "cpu", Fakes, CudaOutputs())
            for title, format, case in cuda_modules.cases()
            if title == name
        }


def difference(expected: list[str], given: list[str]) -> str:
    """Lines that only CUDA has, and those that only a recording has."""
    return "\n".join(unified_diff(expected, given, "CUDA", "recording", lineterm=""))


# -- autocast's lists --------------------------------------------------------------------------


def test_lists_of_autocast_are_those_of_the_header() -> None:
    header = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
    if not header.is_file():
        pytest.skip("this build of PyTorch comes without its headers")
    text = header.read_text(encoding="utf-8")
    assert macro(text, "LOWER_PRECISION_FP") == set(autocast.LOWER_PRECISION)
    assert macro(text, "FP32") == set(autocast.FP32)
    assert macro(text, "FP32_SET_OPT_DTYPE") == set(autocast.FP32_RESULT)
    assert macro(text, "PROMOTE") == set(autocast.WIDEST)
    body = body_of(text, "DIFFERENT_REDISPATCH_SIGNATURE")
    assert set(re.findall(r'"([\w.]+)"', body)) == set(autocast.FP32_OVERLOAD)


def macro(text: str, name: str) -> set[str]:
    """Names of the operators of a list, ``"pow.Scalar"``."""
    entries = re.findall(r"_\((\w+)(?:, (\w+))?\)", body_of(text, name))
    return {".".join(filter(None, entry)) for entry in entries}


def body_of(text: str, name: str) -> str:
    body = re.search(rf"#define AT_FORALL_{name}\(_\)((?:.*\\\n)*.*)", text)
    assert body, f"no list {name} in the header"
    return body[1]


def test_lists_of_autocast_are_its_kernels_on_cuda() -> None:
    assert registered("AutocastCUDA") == autocast.listed()


def test_no_operator_is_in_two_lists_of_autocast() -> None:
    lists = (autocast.LOWER_PRECISION, autocast.FP32, autocast.FP32_RESULT, autocast.WIDEST)
    assert sum(map(len, lists)) == len(set().union(*lists))


# -- attention ---------------------------------------------------------------------------------

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
ATTENTION: dict[str, tuple[Any, Any, int, dict[str, Any], str]] = {
    # capability, format, width, what differs from 2 sequences of 8 tokens in 4 heads: the kernel
    "T4 in bf16: not emulated in a fused kernel": ((7, 5), BF16, 64, {}, "math"),
    "T4 in fp16: flash begins with 8.0": ((7, 5), FP16, 64, {}, "efficient"),
    "T4 in fp16, rows of 12 bytes": ((7, 5), FP16, 6, {}, "math"),
    "T4 in fp32, any rows": ((7, 5), FP32, 5, {}, "efficient"),
    "before 5.0": ((3, 7), FP32, 64, {}, "math"),
    "A100 in bf16": ((8, 0), BF16, 64, {}, "flash"),
    "A100 in fp32": ((8, 0), FP32, 64, {}, "efficient"),
    "A100 in fp32, rows of 20 bytes": ((8, 0), FP32, 5, {}, "math"),
    "A100 in fp64": ((8, 0), torch.float64, 64, {}, "math"),
    "A100, mask": ((8, 0), BF16, 64, {"mask": (8, 8)}, "efficient"),
    "A100, mask that is expanded along its rows": ((8, 0), BF16, 64, {"column": True}, "math"),
    "A100, causal": ((8, 0), BF16, 64, {"causal": True}, "flash"),
    "A100, causal, not square": ((8, 0), BF16, 64, {"causal": True, "keys": 9}, "efficient"),
    "A100, grouped heads": ((8, 0), BF16, 64, {"heads": 2, "grouped": True}, "flash"),
    "A100, grouped heads, mask": (
        (8, 0), BF16, 64, {"heads": 2, "grouped": True, "mask": (8, 8)}, "math",
    ),
    "A100, unlike heads": ((8, 0), BF16, 64, {"heads": 2}, "math"),
    "A100, 256 wide": ((8, 0), BF16, 256, {}, "flash"),
    "A100, 264 wide": ((8, 0), BF16, 264, {}, "efficient"),
    "A10, 224 wide": ((8, 6), BF16, 224, {}, "efficient"),
    "A10, 224 wide, evaluated": ((8, 6), BF16, 224, {"learns": False}, "flash"),
    "A10, 256 wide": ((8, 6), BF16, 256, {}, "flash"),
    "A10, 256 wide, dropout": ((8, 6), BF16, 256, {"dropout": 0.1}, "efficient"),
    "RTX 5090, 200 wide": ((12, 0), BF16, 200, {}, "efficient"),
    "H100": ((9, 0), BF16, 64, {}, "cudnn"),
    "H100 in fp32": ((9, 0), FP32, 64, {}, "efficient"),
    "H100, 256 wide": ((9, 0), BF16, 256, {}, "cudnn"),
    "H100, rows of 20 bytes": ((9, 0), BF16, 10, {}, "flash"),
    "H100, dropout of 1/10": ((9, 0), BF16, 64, {"dropout": 0.1}, "flash"),
    "H100, dropout of 1/8": ((9, 0), BF16, 64, {"dropout": 0.125}, "cudnn"),
    "H100, mask": ((9, 0), BF16, 64, {"mask": (2, 1, 8, 8)}, "cudnn"),
    "H100, mask without batch": ((9, 0), BF16, 64, {"mask": (4, 8, 8)}, "efficient"),
    "H100, mask that learns": ((9, 0), BF16, 64, {"mask": (8, 8), "bias": True}, "efficient"),
    "H100, one key": ((9, 0), BF16, 64, {"keys": 1}, "flash"),
    "B200, 256 wide": ((10, 0), BF16, 256, {}, "flash"),
    "B300": ((10, 3), BF16, 64, {}, "cudnn"),
    "after 12.1": ((13, 0), BF16, 64, {}, "math"),
}  # fmt: skip


@pytest.mark.parametrize("title", ATTENTION)
def test_a_card_takes_this_kernel_of_attention(title: str) -> None:
    capability, dtype, width, options, kernel = ATTENTION[title]
    assert attention.kernel(attention_call(dtype, width, **options), capability) == kernel


def attention_call(
    dtype: Any, width: int, *, heads: int = 4, keys: int = 8, learns: bool = True,
    mask: tuple[int, ...] | None = None, bias: bool = False, column: bool = False, **options: Any,
) -> AttentionCall:  # fmt: skip
    """A call on tensors without memory."""
    new = partial(torch.empty, dtype=dtype, device="meta", requires_grad=learns)
    given = new(mask, requires_grad=bias) if mask else None
    if column:
        given = new((8, 1), requires_grad=False).expand(8, keys)
    query, key = new((2, 4, 8, width)), new((2, heads, keys, width))
    return AttentionCall(query, key, new((2, heads, keys, width)), given, **options)


def test_a_kernel_that_is_switched_off_is_not_taken() -> None:
    call = attention_call(BF16, 64)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION):
        assert attention.kernel(call, (9, 0)) == "efficient"
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert attention.kernel(call, (9, 0)) == "math"


@pytest.mark.parametrize(
    ("capability", "dtype", "operator"),
    [
        ((9, 0), BF16, "_scaled_dot_product_cudnn_attention"),
        ((8, 0), BF16, "_scaled_dot_product_flash_attention"),
        ((7, 5), FP16, "_scaled_dot_product_efficient_attention"),
        ((7, 5), BF16, "_safe_softmax"),
    ],
)
def test_attention_is_recorded_with_its_kernel(capability: Any, dtype: Any, operator: str) -> None:
    def case() -> Any:
        tensors = [torch.randn(2, 4, 8, 64, dtype=dtype).requires_grad_() for _ in range(3)]
        return torch.nn.functional.scaled_dot_product_attention, tuple(tensors)

    with cuda_operators(capability):
        given = cuda_modules.operators(case, "fp32", "cpu", Fakes, CudaOutputs())
    assert operator in {line.partition(" ")[0] for line in given.forward}
    assert given.backward


@pytest.mark.parametrize(
    ("keys", "padded"), [(6, ["constant_pad_nd bf16[5,8]", "slice.Tensor bf16[5,6]"]), (16, [])]
)
def test_a_mask_that_learns_gets_the_gradient_of_each_head(keys: int, padded: list[str]) -> None:
    def case() -> Any:
        new = partial(torch.empty, dtype=BF16, requires_grad=True)
        tensors = [new(2, 4, count, 64) for count in (5, keys, keys)]
        return torch.nn.functional.scaled_dot_product_attention, (*tensors, new(5, keys))

    with cuda_operators((8, 0)):
        given = cuda_modules.operators(case, "fp32", "cpu", Fakes, CudaOutputs())
    *before, forward = given.forward
    assert before == [*padded, f"expand bf16[2,4,5,{keys}]"]
    assert forward.startswith("_scaled_dot_product_efficient_attention ")
    assert given.backward[0].endswith(f" bf16[2,4,5,{keys}]")


# -- PyTorch is as it was ----------------------------------------------------------------------


def state() -> dict[str, Any]:
    """How PyTorch behaves in this thread: kernels in the dispatcher, autocast, dropout, attention,
    RMSNorm, optimizers, clipping, filters of warnings."""
    touched = sorted({*autocast.listed(), *registered(AUTOCAST), *_COMPOSED, "_fused_rms_norm"})
    optimizer, foreach = map(import_module, ("torch.optim.optimizer", "torch.utils._foreach_utils"))
    parameter, x = torch.nn.Parameter(torch.ones(2, 4)), torch.ones(2, 4, requires_grad=True)
    query = torch.ones(1, 2, 4, 8, requires_grad=True)
    return {
        "dispatcher": [torch._C._dispatch_dump(f"aten::{name}") for name in touched],
        "Python's kernels": set(torch.library._impls),
        "autocast": formats_under_autocast(),
        "autocast is on": torch.is_autocast_enabled("cpu"),
        "cache of autocast": torch.clear_autocast_cache,
        "dropout": torch.nn.functional.dropout(x, 0.5).grad_fn.name(),
        "attention": torch.nn.functional.scaled_dot_product_attention(*[query] * 3).grad_fn.name(),
        "rms_norm": torch.rms_norm(x, (4,)).sum().backward(),
        "optimizers": optimizer._default_to_fused_or_foreach([parameter], False),
        "clipping": foreach._has_foreach_support([x], x.device),
        "foreach": [*optimizer._foreach_supported_types, *foreach._foreach_supported_types],
        "devices": optimizer._get_foreach_kernels_supported_devices(),
        "warnings": list(warnings.filters),
        "gradients": torch.is_grad_enabled(),
    }


def formats_under_autocast() -> dict[str, Any]:
    """Formats of the results of operators under autocast on a processor."""
    a, b = torch.ones(2, 4), torch.ones(4, 4, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        y = a @ b
        results = {
            "matmul": y, "linear": torch.nn.functional.linear(a, b), "mm": torch.mm(a, b),
            "softmax": y.softmax(1), "layer_norm": torch.layer_norm(y, (4,)), "sum": y.sum(),
            "exp": y.exp(), "mse_loss": torch.nn.functional.mse_loss(y, a), "norm": y.norm(),
            "mv": torch.mv(b, a[0]), "pow": y.pow(2), "prod": y.prod(),
        }  # fmt: skip
    return {name: result.dtype for name, result in results.items()}


class Failing(torch.autograd.Function):
    """Function that fails on its way back."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise ValueError("backward")


class Net(torch.nn.Module):
    """Small network with what a card resolves otherwise; it fails where it is told to."""

    def __init__(self, fails: str = "") -> None:
        super().__init__()
        self.fails = fails
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.RMSNorm(8), torch.nn.Linear(8, 4)
        )
        if fails == "build":
            raise ValueError("build")

    def forward(self, x: Any) -> Any:
        y = self.layers(x)
        if self.fails == "forward":
            raise ValueError("forward")
        return Failing.apply(y) if self.fails == "backward" else y


class FailingOptimizer(torch.optim.SGD):
    def step(self, closure: Any = None) -> None:
        super().step(closure)
        raise ValueError("optimizer")


def recorded_net(fails: str = "", **options: Any) -> Any:
    return memlab.record(
        lambda: Net(fails),
        lambda batch: (torch.randn(batch, 8), torch.randint(4, (batch,))),
        torch.nn.functional.cross_entropy,
        FailingOptimizer if fails == "optimizer" else "adam",
        **options,
    )


ON_CARD: dict[str, Any] = {
    "device": "cuda",
    "card": "T4",
    "autocast": "bf16",
    "clip_grad_norm": 1.0,
}


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """Load what PyTorch loads with the first recording: it adds kernels and classes for good."""
    recorded_net()


@pytest.mark.filterwarnings("ignore:memlab now runs this model's step on real")
@pytest.mark.parametrize("fails", ["", "build", "forward", "backward", "optimizer"])
def test_pytorch_is_as_it_was_after_a_recording(fails: str) -> None:
    before = state()
    with pytest.raises(ValueError, match=fails) if fails else nullcontext():
        recorded_net(fails, **ON_CARD)
    assert state() == before


def test_a_recording_for_a_card_changes_what_is_compared() -> None:
    before = state()
    with cuda_operators((7, 5)):
        during = formats_under_autocast()
        dump = torch._C._dispatch_dump("aten::dropout")
    assert during["sum"] == torch.float32 != before["autocast"]["sum"]
    assert dump not in before["dispatcher"]
    assert state() == before


def peak(step: Any) -> int:
    return memlab.plan(step).peak(16)


@pytest.mark.parametrize(
    ("outer", "inner"), [(ON_CARD, {}), ({}, ON_CARD), (ON_CARD, {**ON_CARD, "card": "8.0"})]
)
def test_a_recording_inside_a_recording_changes_neither(outer: Any, inner: Any) -> None:
    inside = []

    def build() -> Any:
        inside.append(recorded_net(**inner))
        return Net()

    def make_batch(batch: int) -> Any:
        return torch.randn(batch, 8), torch.randint(4, (batch,))

    step = memlab.record(build, make_batch, torch.nn.functional.cross_entropy, "adam", **outer)
    assert peak(step) == peak(recorded_net(**outer))
    assert peak(inside[0]) == peak(recorded_net(**inner))


def test_a_recording_in_another_thread_changes_nothing_here() -> None:
    before, plan = behaviour(state()), peak(recorded_net())
    entered, done = Event(), Event()

    def hold() -> None:
        with cuda_operators((8, 0)):
            entered.set()
            done.wait(60)

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(hold)
        assert entered.wait(60)
        try:
            assert behaviour(state()) == before
            assert peak(recorded_net()) == plan
        finally:
            done.set()
        other.result(60)


def behaviour(state: dict[str, Any]) -> dict[str, Any]:
    """Part of a state that other threads must leave as it is."""
    of_process = ("dispatcher", "Python's kernels", "cache of autocast", "foreach")
    return {name: value for name, value in state.items() if name not in of_process}


def test_the_kernels_stay_until_the_last_thread_leaves() -> None:
    before = state()
    first, second = (threading_context() for _ in range(2))
    for enter, _ in (first, second):
        enter()
    first[1]()
    with cuda_operators((7, 5)):
        assert formats_under_autocast()["sum"] == torch.float32
    second[1]()
    assert state() == before


def threading_context() -> tuple[Callable[[], None], Callable[[], None]]:
    """Functions that enter and leave the operators of a card in a thread of its own."""
    pool, stack = ThreadPoolExecutor(1), ExitStack()
    enter = partial(stack.enter_context, cuda_operators((8, 0)))

    def leave() -> None:
        pool.submit(stack.close).result(60)
        pool.shutdown()

    return lambda: pool.submit(enter).result(60), leave


def test_two_threads_record_at_once() -> None:
    options: list[dict[str, Any]] = [ON_CARD, {}, {**ON_CARD, "card": "H100", "autocast": ""}]
    alone = [peak(recorded_net(**given)) for given in options]
    before = state()
    with ThreadPoolExecutor(3) as pool:
        steps = list(pool.map(lambda given: recorded_net(**given), options))
    assert [peak(step) for step in steps] == alone
    assert state() == before


def test_a_step_on_real_tensors_takes_the_kernels_that_a_processor_has() -> None:
    class Mixed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.cell = torch.nn.BatchNorm2d(2), torch.nn.LSTMCell(8, 8)
            self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
            self.rms_norm, self.last = torch.nn.RMSNorm(8), torch.nn.Linear(8, 4)

        def forward(self, x: Any) -> Any:
            y = self.norm(x.view(-1, 2, 2, 2)).view(-1, 1, 8)
            y = self.attention(y, y, y, need_weights=False)[0]
            return self.last(self.rms_norm(self.cell(y[:, 0])[0])).softmax(1)

    step = memlab.record(
        Mixed,
        lambda batch: (torch.randn(batch, 8), torch.randint(4, (batch,))),
        torch.nn.functional.cross_entropy,
        "adam",
        real=True,
        **{**ON_CARD, "card": "8.0", "autocast": "fp16"},
    )
    assert "_foreach_add_" in {op.kind for op in step.ops}


def test_fake_tensors_log_again_after_two_recordings_at_once() -> None:
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    before = logger.level
    first, second = ExitStack(), ExitStack()
    for recording in (first, second):
        recording.enter_context(quiet())
    first.close()
    assert logger.level > logging.CRITICAL
    second.close()
    assert logger.level == before
