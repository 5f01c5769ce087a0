"""What PyTorch's allocator on a processor hands out at most in a training step, by its own events.

It shares nothing with ``memlab.frontends.torch``. Import it only where PyTorch is installed.
"""

from __future__ import annotations

import contextlib
import gc
from itertools import accumulate
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._pytree import tree_leaves

from tests.oracles.torch_peak import OPTIMIZERS


def most(
    build: Any, make_batch: Any, loss_fn: Any, batch: int, optimizer: Any = "momentum",
    autocast: str = "",
) -> int:  # fmt: skip
    """The bytes at the peak of the second step, those that are there before it with them."""
    torch.manual_seed(0)
    model = build().train()
    make = optimizer if callable(optimizer) else OPTIMIZERS[optimizer]
    optimizer, (x, target) = make(model.parameters()), make_batch(batch)
    amp = torch.autocast("cpu", torch.bfloat16) if autocast else contextlib.nullcontext()

    def step() -> Any:
        optimizer.zero_grad()
        with amp:
            loss = loss_fn(model(x), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    step()
    optimizer.zero_grad()
    gc.collect()
    before = _before(model, optimizer, (x, target))
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    events = profiler.profiler.kineto_results.events()
    pairs = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    top: int = max(accumulate((nbytes for _, nbytes in pairs), initial=0))
    return before + top


def _before(model: Any, optimizer: Any, data: Any) -> int:
    """Bytes of parameters, buffers, states and inputs, each storage once."""
    states = [value for state in optimizer.state.values() for value in state.values()]
    tensors = [*model.parameters(), *model.buffers(), *states, *tree_leaves(data)]
    storages = [each.untyped_storage() for each in tensors if isinstance(each, torch.Tensor)]
    return sum({each._cdata: each.nbytes() for each in storages}.values())
