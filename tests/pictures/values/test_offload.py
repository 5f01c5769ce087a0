"""Offload in seconds: the figures of the simulation, and every sum against the plan."""

from __future__ import annotations

import pytest

import memlab
from memlab import hardware
from memlab.pictures.idle import idle_maps
from memlab.pictures.offload.streams import Offload, offloaded
from memlab.pictures.values.recipe import network_of
from memlab.step.storage import DEVICE, HOST

CARD = 12_000_000_000


def found(
    name: str = "vgg16", batch: int = 256, policy: str = "conv", link: int = 12, optimizer="sgd"
) -> Offload:
    device = hardware.find("titan x")
    return offloaded(network_of(name), batch, policy, link * 10**9, device, optimizer, CARD)


def test_vgg_16_fits_with_sgd_by_687036_bytes_and_not_with_momentum() -> None:
    sgd, momentum = found(), found(optimizer="momentum")
    assert (sgd.fits, CARD - sgd.peak, sgd.host) == (True, 687_036, 9_299_820_544)
    assert (momentum.fits, round(momentum.peak / 1e9, 2)) == (False, 12.55)
    assert "687,036 B are left" in " ".join(sgd.lines())
    assert momentum.title.startswith("It does not fit the card")


def test_all_layers_take_longer_and_save_nothing_more() -> None:
    conv, more = found(), found(policy="all")
    assert more.peak == conv.peak
    assert more.longer > 4 * conv.longer
    assert more.host > conv.host


def test_the_best_set_moves_fewer_maps_and_takes_less_time() -> None:
    conv, dynamic, best = (found(policy=policy, link=3) for policy in ("conv", "dynamic", "best"))
    assert (dynamic.peak, dynamic.host, dynamic.now.seconds) == (
        conv.peak,
        conv.host,
        conv.now.seconds,
    )
    assert best.fits
    assert best.longer < 0.7 * conv.longer
    assert best.host < conv.host


def test_nothing_moves_under_none() -> None:
    plain = found(policy="none")
    assert (plain.copies, plain.waits, plain.host, plain.longer) == ([], [], 0, 0)
    assert plain.title == "Nothing moves, and it does not fit the card"


@pytest.mark.parametrize("link", [3, 450])
def test_a_copy_is_hidden_or_compute_waits_for_it(link: int) -> None:
    here = found(link=link)
    assert sum(copy.nbytes for copy in here.copies) == 2 * here.host
    for copy in here.copies:
        assert copy.seconds == pytest.approx(copy.nbytes / (link * 1e9))
        assert copy.hidden + copy.waits <= copy.seconds + 1e-9
    assert sum(copy.waits for copy in here.copies) >= here.now.stalled() - 1e-9
    slow = here.now.seconds - here.now.busy()
    assert slow == pytest.approx(here.now.stalled())


def test_the_largest_map_leaves_and_comes_back_as_the_rules_say() -> None:
    out, back = (copy for copy in found().copies if copy.name == "conv1_1")
    assert (out.under, back.under, back.needed) == (
        "conv1_2", "backward of conv2_1", "backward of conv1_2"
    )  # fmt: skip
    assert out.waits == pytest.approx(back.waits, abs=1e-3)
    assert "back under backward of conv2_1" in found().fact("conv1_1")


@pytest.mark.parametrize(("name", "batch"), [("vgg16", 256), ("googlenet", 128)])
def test_mountains_are_the_memory_of_the_clock(name: str, batch: int) -> None:
    here = found(name, batch, "all")
    for hill, memory in ((here.on_device, DEVICE), (here.on_host, HOST)):
        least = dict(here.now.memory(memory))
        ends = zip(hill.seconds.tolist()[:-1], hill.total.tolist(), strict=False)
        assert all(least.get(second, total) == total for second, total in ends)
        assert hill.total.max() <= here.now.peak(memory)


def test_slabs_are_nested_where_maps_come_back_in_reverse() -> None:
    vgg, forks = found(), found("googlenet", 128, "all")
    assert vgg.nested
    assert not forks.nested
    assert vgg.slabs[-1].low + vgg.slabs[-1].nbytes == vgg.host


@pytest.mark.parametrize(
    ("name", "batch", "share"),
    [("vgg16", 256, 88.1), ("resnet50", 32, 97)],
)
def test_most_of_the_area_is_idle(name: str, batch: int, share: float) -> None:
    here = idle_maps(network_of(name), batch, hardware.find("titan x"))
    assert 100 * here.share == pytest.approx(share, abs=1)
    area = sum(row.nbytes * row.alive for row in here.rows)
    unused = sum(row.nbytes * sum(end - start for start, end in row.gaps) for row in here.rows)
    assert unused / area == pytest.approx(here.share, abs=1e-6)


def test_a_network_of_one_layer_has_nothing_idle() -> None:
    here = idle_maps(network_of("linear1"), 256, hardware.find("titan x"))
    assert here.share < 0.1
    assert here.title.startswith("In use nearly all the time")


def test_a_question_has_no_answer() -> None:
    asked = idle_maps(network_of("vgg16"), 256, hardware.find("titan x"), asked=True)
    said = " ".join([asked.title, *asked.lines(), *map(str, asked.table()), *asked.notes])
    assert "idle" not in said
    assert "88" not in said.replace("3.288", "").replace("3,288", "")


def test_a_device_without_a_rate_is_refused() -> None:
    with pytest.raises(memlab.InputError, match="no source gives"):
        idle_maps(network_of("vgg16"), 8, hardware.find("12 GB card"))
