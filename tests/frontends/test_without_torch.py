"""Without PyTorch a model is not recorded, and everything else is as before."""

import sys

import pytest

import memlab
from memlab import InputError


def test_without_pytorch_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r'needs PyTorch.*try pip install "memlab\[torch\]"'):
        memlab.record(lambda: None, lambda batch: None, lambda y, target: None)
    assert memlab.plan(memlab.training_step(memlab.zoo.build("alexnet"))).peak(1) > 0
