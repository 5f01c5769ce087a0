"""What all tests of the front end have."""

import sys

import pytest


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """PyTorch computes in one thread: what kernels take depends on how many there are."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
