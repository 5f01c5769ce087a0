"""Cards by name and by compute capability."""

from __future__ import annotations

import pytest

from memlab.errors import InputError
from memlab.placement import cuda_cards
from memlab.placement.cuda_cards import CARDS, CUBLAS, CUBLAS_HOPPER, USUAL, CudaCard, chosen, find


@pytest.mark.parametrize(
    ("given", "capability", "memory"),
    [("t4", (7, 5), 16 * 10**9), ("Tesla T4", (7, 5), 16 * 10**9),
     ("NVIDIA GeForce RTX 4090", (8, 9), 24 * 10**9), ("8.9", (8, 9), 0), ("12", (12, 0), 0)],
)  # fmt: skip
def test_a_card_is_known_by_its_name_or_its_capability(
    given: str, capability: tuple[int, int], memory: int
) -> None:
    card = find(given)
    assert (card.capability, card.memory) == (capability, memory)
    assert find(card) is card


@pytest.mark.parametrize("given", ["gtx 9", "4.2", "7.55", "99", "", 8.9, None])
def test_another_card_is_refused_in_one_sentence(given: str) -> None:
    with pytest.raises(InputError) as error:
        find(given)
    assert "\n" not in str(error.value)


def test_every_card_is_found_by_its_name() -> None:
    assert all(find(name) == card for name, card in CARDS.items())


def test_cublas_has_more_on_hopper() -> None:
    assert CUBLAS == 8_519_680
    assert find("h100").cublas == CUBLAS_HOPPER == 32 * 2**20
    assert {find(name).cublas for name in ("t4", "a100", "b200")} == {CUBLAS}


def test_a_processor_has_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen("cpu", None) is None
    with pytest.raises(InputError, match="device='cpu' has no card, got 'T4'"):
        chosen("cpu", "T4")
    with pytest.raises(InputError, match="unknown device 'gpu'"):
        chosen("gpu", None)
    here = CudaCard("this card", (8, 6))
    for installed, expected in ((None, USUAL), (here, here)):
        monkeypatch.setattr(cuda_cards, "installed", lambda card=installed: card)
        assert chosen("cuda", None) == expected
        assert chosen("cuda", "T4") == find("t4")
