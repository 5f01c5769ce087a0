"""Without PyTorch a model is not recorded, and everything else is as before."""

import sys

import pytest

import memlab
from memlab import InputError

WANTED = r'needs PyTorch.*try pip install "memlab\[torch\]"'


def test_without_pytorch_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=WANTED):
        memlab.record(lambda: None, lambda batch: None, lambda y, target: None)
    assert memlab.plan(memlab.training_step(memlab.zoo.build("alexnet"))).peak(1) > 0


def test_a_training_loop_is_refused_in_the_same_words(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=WANTED):
        memlab.explain(step=lambda x, y: None, batch=(1, 2))
