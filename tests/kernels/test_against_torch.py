"""Every layer compared with PyTorch: nearly equal in fp64, and in fp32 about as near to fp64 as
PyTorch is."""

from __future__ import annotations

import numpy as np
import pytest

from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.kernels import registry
from memlab.kernels.registry import Array
from memlab.layers.losses import Loss
from tests.kernels_by_case import CASES, Case, Trial, distance
from tests.oracles.requirement import torch_or_skip

torch = torch_or_skip()
F = torch.nn.functional

CERTAIN = [case for case in CASES if not isinstance(case.layer, L.Dropout)]
"""A dropout draws other numbers than PyTorch's."""

LARGE = [
    Case(L.Conv2d(32, 3, pad=1), ((64, 14, 14),)),
    Case(L.Conv2d(32, 3, pad=1), ((64, 14, 14),), "direct"),
    Case(L.Conv2d(530, 2, 2), ((9, 30, 34),), "im2col-tile"),
    Case(L.Conv2d(530, 3, pad=1), ((9, 30, 31),), "offsets"),
    Case(L.Conv2d(64, 1), ((256, 14, 14),)),
    Case(L.Conv2d(16, 7, 2, 3), ((3, 64, 64),)),
    Case(L.Linear(100), ((512,),)),
    Case(L.BatchNorm(), ((16, 28, 28),)),
    Case(L.LocalResponseNorm(), ((16, 13, 13),)),
    Case(L.Tanh(), ((4, 16, 16),)),
    Case(L.MaxPool2d(3, 2, 1), ((8, 28, 28),)),
    Case(L.AvgPool2d("all"), ((64, 7, 7),)),
    Case(L.AvgPool2d(3, 1, 1), ((8, 28, 28),)),
    Case(L.SoftmaxCrossEntropy(), ((1000,),)),
    Case(L.SquaredError(), ((1000,),)),
]
ROUNDING = 5e-8
"""Half of the distance from one fp32 number to the next, relative."""


def theirs(trial: Trial, weights: Array | None, dtype: np.dtype) -> dict[str, Array]:
    """Output and all gradients that PyTorch computes from the same values."""
    values = {name: torch.tensor(array) for name, array in trial.values.items()}
    for name in (*trial.inputs, *trial.learned):
        values[name] = values[name].to(torch.from_numpy(np.empty(0, dtype)).dtype).requires_grad_()
    layer, inputs = trial.case.layer, [values[name] for name in trial.inputs]
    output = FUNCTIONS[layer.kind](layer, inputs, values)
    grads = None if weights is None else torch.tensor(weights, dtype=output.dtype)
    output.backward(grads)
    outputs = {"output": output.detach().numpy()}
    return outputs | {f"d{n}": values[n].grad.numpy() for n in (*trial.inputs, *trial.learned)}


def conv2d(layer, x, values):
    settings = (layer.stride, layer.padding, layer.dilation, layer.groups)
    return F.conv2d(x[0], values["weight"], values.get("bias"), *settings)


def pool(function):
    def call(layer, x, values):
        kh, kw, stride, pad = layer.geometry(x[0].shape[1:])
        return function(x[0], (kh, kw), stride, pad, ceil_mode=layer.ceil)

    return call


def batch_norm(layer, x, values):
    running = values["running_mean"].to(x[0].dtype), values["running_var"].to(x[0].dtype)
    learned = values["weight"], values["bias"]
    return F.batch_norm(x[0], *running, *learned, True, layer.momentum, layer.epsilon)


def lstm_state(gates, before=None):
    i, f, g, _ = gates.chunk(4, 1)
    new = i.sigmoid() * g.tanh()
    return new if before is None else f.sigmoid() * before + new


def heads_of(qkv, heads):
    """Queries, keys and values, each as (batch, heads, T, d)."""
    return (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, 2))


def scores(layer, x, values):
    q, k, _ = heads_of(x[0], layer.heads)
    return q @ k.transpose(2, 3) / q.shape[3] ** 0.5


def attention_softmax(layer, x, values):
    seen = torch.ones(x[0].shape[2:], dtype=bool).tril() if layer.causal else torch.tensor(True)
    return x[0].where(seen, -torch.inf).softmax(3)


def attention_values(layer, x, values):
    _, _, v = heads_of(x[1], layer.heads)
    return (x[0] @ v).transpose(1, 2).flatten(2)


def attention(layer, x, values):
    q, k, v = heads_of(x[0], layer.heads)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=layer.causal)
    return y.transpose(1, 2).flatten(2)


def low_rank(layer, x, values):
    parts, small = list(values["x0"].chunk(layer.of, -1)), values["x1"].split(layer.rank, -1)
    weights = values["weight"].chunk(len(layer.parts))
    for part, some, weight in zip(layer.parts, small, weights, strict=True):
        parts[part] = parts[part] + layer.alpha / layer.rank * F.linear(some, weight)
    return torch.cat(parts, -1)


def cross_entropy(layer, x, values):
    return F.cross_entropy(x[0].flatten(0, -2), values["labels"].flatten())


FUNCTIONS = {
    "embedding": lambda layer, x, v: F.embedding(v["x"], v["weight"]),
    "positions": lambda layer, x, v: x[0] + v["weight"],
    "layer_norm": lambda layer, x, v: F.layer_norm(
        x[0], x[0].shape[-1:], v["weight"], v["bias"], layer.epsilon
    ),
    "gelu": lambda layer, x, v: F.gelu(
        x[0], approximate="none" if layer.form == "exact" else layer.form
    ),
    "patches": lambda layer, x, v: x[0].flatten(2).transpose(1, 2),
    "class_token": lambda layer, x, v: torch.cat([v["token"].expand(len(x[0]), 1, -1), x[0]], 1),
    "first_token": lambda layer, x, v: x[0][:, 0],
    "attention_scores": scores,
    "attention_softmax": attention_softmax,
    "attention_values": attention_values,
    "fused_attention": attention,
    "low_rank": low_rank,
    "linear": lambda layer, x, v: F.linear(x[0], v["weight"], v.get("bias")),
    "conv2d": conv2d,
    "max_pool2d": pool(F.max_pool2d),
    "avg_pool2d": pool(F.avg_pool2d),
    "batch_norm": batch_norm,
    "local_response_norm": lambda layer, x, v: F.local_response_norm(
        x[0], layer.size, layer.alpha, layer.beta, layer.k
    ),
    "relu": lambda layer, x, v: F.relu(x[0]),
    "tanh": lambda layer, x, v: torch.tanh(x[0]),
    "add": lambda layer, x, v: sum(x),
    "concat": lambda layer, x, v: torch.cat(x, 1),
    "lstm_state": lambda layer, x, v: lstm_state(*x),
    "lstm_output": lambda layer, x, v: x[0].chunk(4, 1)[3].sigmoid() * x[1].tanh(),
    "softmax_cross_entropy": cross_entropy,
    "squared_error": lambda layer, x, v: ((x[0] - v["labels"]) ** 2).sum() / len(x[0]),
}


def ours(trial: Trial, weights: Array | None) -> dict[str, Array]:
    outputs = {"output": trial.output(trial.forward())}
    return outputs | (trial.backward(weights) if trial.backward_op else {})


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("case", CERTAIN, ids=str)
def test_the_same_in_fp64(case: Case, batch: int) -> None:
    trial = Trial(case, batch)
    weights = trial.weights()
    if isinstance(case.layer, L.BatchNorm) and trial.values["x"][:, 0].size == 1:
        pytest.skip("PyTorch refuses to normalise one value")
    results, expected = ours(trial, weights), theirs(trial, weights, np.dtype(np.float64))
    for name, array in results.items():
        assert distance(array, expected[name]) < 1e-12, name


@pytest.mark.parametrize("case", LARGE, ids=str)
def test_as_exact_in_fp32(case: Case) -> None:
    trial = Trial(case, 4, "fp32")
    weights = trial.weights()
    truth = theirs(trial, weights, np.dtype(np.float64))
    results, rival = ours(trial, weights), theirs(trial, weights, np.dtype(np.float32))
    for name, array in results.items():
        error, allowed = (distance(a[name], truth[name]) for a in ({name: array}, rival))
        assert error <= 2 * allowed + ROUNDING, name


def test_running_statistics() -> None:
    trial = Trial(Case(L.BatchNorm(momentum=0.3), ((4, 3, 5),)), 3)
    written = trial.forward()
    mean, variance = torch.ones(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    F.batch_norm(torch.tensor(trial.values["x"]), mean, variance, training=True, momentum=0.3)
    assert distance(written["running_mean"], mean.numpy()) < 1e-14
    assert distance(written["running_var"], variance.numpy()) < 1e-14


def test_batch_norm_in_inference() -> None:
    trial = Trial(Case(L.BatchNorm(epsilon=1e-3), ((4, 3, 5),)), 3)
    running = {name: trial.rng.random(4) for name in ("running_mean", "running_var")}
    y = infer(trial, **running)
    x, *rest = (torch.tensor((trial.values | running)[name]) for name in ("x", *trial.learned))
    running_there = (torch.tensor(array) for array in running.values())
    expected = F.batch_norm(x, *running_there, *rest, eps=1e-3)
    assert distance(y, expected.numpy()) < 1e-14


def test_softmax() -> None:
    trial = Trial(Case(L.SoftmaxCrossEntropy(), ((6,),)), 3)
    expected = F.softmax(torch.tensor(trial.values["x"]), 1)
    assert distance(infer(trial), expected.numpy()) < 1e-14


@pytest.mark.parametrize("case", [c for c in CERTAIN if not isinstance(c.layer, Loss)], ids=str)
def test_inference_is_forward_without_what_backward_needs(case: Case) -> None:
    trial = Trial(case, 3)
    if not isinstance(case.layer, L.BatchNorm):
        assert (infer(trial) == trial.forward()["y"]).all()


def infer(trial: Trial, **given: Array) -> Array:
    """Output of the layer's operation in an inference step."""
    (op,) = trial.case.ops("fp64", training=False)
    call = trial.prepared(op, trial.values | given, training=False)
    registry.find(op.kind, op.algorithm, format="fp64")(call)
    return call["y"]
