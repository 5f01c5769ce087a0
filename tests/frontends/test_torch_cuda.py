"""A step that is recorded for a card has the operators of a CUDA device, and leaves PyTorch as it
was."""

from __future__ import annotations

import json
import warnings
from difflib import unified_diff
from typing import Any

import pytest

from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from memlab.frontends.torch.cuda.operators import CudaOutputs, cuda_operators
from memlab.frontends.torch.real_outputs import Fakes
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


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, Operators]]:
    """Operators with the kernels of a recording for a card, by case and format."""
    table: dict[str, dict[str, Operators]] = {}
    with cuda_operators(WITHOUT_FUSED_ATTENTION), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of modules, about how they are used
        for name, format, case in cuda_modules.cases():
            if name not in EXCEPTIONS:
                row = table.setdefault(name, {})
                row[format] = cuda_modules.operators(case, format, "cpu", Fakes, CudaOutputs())
    return table


@pytest.mark.parametrize("name", [name for name in (*CASES, *UPDATES) if name not in EXCEPTIONS])
def test_recording_has_the_operators_of_cuda(name: str, truth: Any, recorded: Any) -> None:
    assert set(recorded[name]) == set(truth[name])
    for format, operators in recorded[name].items():
        expected = truth[name][format]
        assert difference(expected.forward, operators.forward) == "", format
        assert difference(expected.backward, operators.backward) == "", format
        assert operators.saved == expected.saved, format


def test_exceptions_are_few_and_differ(truth: Any) -> None:
    assert len(EXCEPTIONS) <= 8
    for name, format, case in cuda_modules.cases():
        expected = truth[name][format]
        if name in EXCEPTIONS and expected is not None and format == cuda_modules.FP32:
            with cuda_operators(WITHOUT_FUSED_ATTENTION):
                given = cuda_modules.operators(case, format, "cpu", Fakes, CudaOutputs())
            assert given != expected, name


def difference(expected: list[str], given: list[str]) -> str:
    """Lines that only CUDA has, and those that only a recording has."""
    return "\n".join(unified_diff(expected, given, "CUDA", "recording", lineterm=""))
