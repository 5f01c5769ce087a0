"""PyTorch's autocast leaves in fp32 what lesson 06 says, and saves activations in 16 bits."""

import pytest

from memlab import strings

torch = pytest.importorskip("torch")


def trained():
    """A layer after a step under autocast, its optimizer, and what backward read again."""
    layer = torch.nn.Linear(8, 4)
    optimizer = torch.optim.Adam(layer.parameters())
    saved = []

    def keep(tensor):
        saved.append(tensor)
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(keep, lambda kept: kept),
        torch.autocast("cpu", torch.bfloat16),
    ):
        output = layer(torch.ones(2, 8))
    output.float().sum().backward()
    optimizer.step()
    return layer, optimizer, saved


def test_parameters_gradients_and_states_stay_in_fp32():
    layer, optimizer, _ = trained()
    states = [state[key] for state in optimizer.state.values() for key in ("exp_avg", "exp_avg_sq")]
    kept = [*layer.parameters(), *(weight.grad for weight in layer.parameters()), *states]
    assert len(kept) == 2 + 2 + 4
    assert {tensor.dtype for tensor in kept} == {torch.float32}
    assert "in fp32" in strings.get("ask.06.state.finding")


def test_what_the_layer_keeps_for_backward_is_in_16_bits():
    _, _, saved = trained()
    assert saved
    assert {tensor.dtype for tensor in saved} == {torch.bfloat16}
