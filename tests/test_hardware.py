"""Machines and links: what the table must hold, files of one's own, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from memlab import InputError, hardware
from memlab.formats import FORMATS
from memlab.hardware import DEVICES, LINKS, SURE
from tests.rows import every_row

OWN = """
[[link]]
name = "cable"
raw = 5e9

[[device]]
name = "my card"
memory = 8_000_000_000
bandwidth = [300e9, "quoted"]
flops = { fp32 = 10e12 }
link = "cable"
"""


def test_every_figure_says_how_sure_it_is_and_where_it_is_from() -> None:
    for device in DEVICES.values():
        figures = [device.memory, device.bandwidth, *device.flops.values()]
        assert all(each is None or each.sure in SURE[:4] for each in figures), device
        assert device.source, device
        assert set(device.flops) <= set(FORMATS) | {"fp8"}, device
    assert all(link.source and link.speed <= link.raw.value for link in LINKS.values())


def test_a_card_of_12_gb_is_not_the_card_of_12_gib() -> None:
    assert hardware.find("12 GB card").memory.value == 12 * 10**9
    assert hardware.find("titan x").memory.value == 12 * 2**30
    assert "12.885 GB (12.000 GiB)" in hardware.find("titan x").text()


def test_tensor_cores_of_one_generation_do_as_much_a_clock() -> None:
    """184 at 2.475 GHz beside 512 at 2.52 GHz, with sums in fp32: half a clock in 1,000 apart."""
    small, large = (hardware.find(name).rate("fp16") for name in ("rtx 4070", "rtx 4090"))
    assert small / (184 * 2.475) == pytest.approx(large / (512 * 2.52), rel=5e-4)
    assert hardware.find("rtx 4070").rate("fp16") == 2 * hardware.find("rtx 4070").rate()


def test_one_machine_has_its_memory_on_the_chip_alone() -> None:
    chips = [device for device in DEVICES.values() if device.on_chip]
    assert {"ipu mk1", "ipu mk2"} == {chip.name for chip in chips}
    assert all(chip.moves() > hardware.find("h200").moves() for chip in chips)


def test_a_format_without_a_rate_is_computed_as_fp32() -> None:
    card = hardware.find("titan x")
    assert card.rate("fp16") == card.rate("fp32") == 2 * card.rate("fp64")
    assert hardware.find("v100").rate("fp16") == 125 * 10**12
    with pytest.raises(InputError, match="tpu v4 for fp32, only for bf16; leave"):
        hardware.find("tpu v4").rate()
    with pytest.raises(InputError, match="a rate of 12 GB card for fp32; leave"):
        hardware.find("12 GB card").rate()


@every_row(
    ("given", "speed"),
    [("12 GB/s", 12 * 10**9), (12e9, 12 * 10**9), ("PCIe 3.0 x16", 12 * 10**9), ("1 GiB/s", 2**30)],
)
def test_a_link_has_a_name_or_a_speed(given: str | float, speed: int) -> None:
    assert hardware.link(given).speed == speed


@every_row("given", ["0 GB/s", 0, -1, 0.5, float("nan"), "cable", "12 gigs"])
def test_a_link_over_which_nothing_moves_is_refused(given: object) -> None:
    with pytest.raises(InputError, match=r"try|Known"):
        hardware.link(given)  # type: ignore[arg-type]  # wrong on purpose


def test_a_file_adds_a_machine_and_its_link(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(OWN, encoding="utf-8")
    mine = hardware.find(str(tmp_path / "mine.toml"))
    assert (mine.name, mine.memory.value, mine.moves()) == ("my card", 8 * 10**9, 300 * 10**9)
    assert mine.link is not None
    assert mine.link.speed == 5 * 10**9
    assert mine.rate() == 10**13


@pytest.mark.table
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[[device]]\nname = 'x'", "has no memory"),
        ("[[device]]\nname = 'x'\nmemory = 'much'", "memory of x is a number or"),
        ("[[device]]\nname = 'x'\nmemory = 0", "must be at least 1"),
        ("[[device]]\nname = 'x'\nmemory = [1, 'recall']", "unknown word for how sure"),
        ("[[device]]\nname = 'x'\nmemory = 1\nspeed = 2", "unknown figure of a device 'speed'"),
        ("[[device]]\nname = 'x'\nmemory = 1\nlink = 'rope'", "unknown link 'rope'"),
        ("[[device]]\nname = 'x'\nmemory = 1\nflops = 3", "flops of x are a table by format"),
        ("[[device]]\nname = 'x'\nmemory = 1\nflops = { fp_16 = 1 }", "did you mean 'fp16'"),
        ("[[device]]\nname = 'x'\nmemory = 1\non_chip = 'no'", "must be True or False"),
        ("[[device]]\nname = 'x'\nmemory = 1\n" * 2, "have one name"),
        ("[device]\nname = 'x'\nmemory = 1", r"a device is a table .* try \[\[device\]\]"),
        ("device = 3", "a device is a table of figures, got 3"),
        ("[[link]]\nname = 3\nraw = 1", "3 is no name for a link"),
        ("", r"has no \[\[device\]\]"),
        ("[[", "holds no machine"),
    ],
)
def test_a_bad_file_is_refused_with_its_fault(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "bad.toml").write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        hardware.load(tmp_path / "bad.toml")


def test_an_unknown_machine_is_refused_with_the_names() -> None:
    with pytest.raises(InputError, match="did you mean 'titan x'"):
        hardware.find("titanx")
    with pytest.raises(InputError, match="holds no machine"):
        hardware.find("nowhere.toml")


@every_row("given", ["12", 12, 12.0, "0.15"])
def test_a_slow_rate_needs_its_unit(given: str | float) -> None:
    shown = f"{float(given):g}"
    for read in (hardware.link, lambda rate: hardware.speed("disk", rate, "0.15 GB/s")):
        with pytest.raises(InputError, match=f"of {shown} has no unit.*'{shown} GB/s'"):
            read(given)
    assert hardware.link("12 B/s").speed == hardware.speed("disk", "12 B/s", "0.15 GB/s") == 12


@every_row("given", ["fast", "GB/s", "nan GB/s"])
def test_what_is_no_rate_is_told_what_one_is(given: str) -> None:
    with pytest.raises(InputError, match=r"disk is a rate in bytes per second, got .*; try '0.15"):
        hardware.speed("disk", given, "0.15 GB/s")


@every_row(
    ("name", "room", "link"),
    [
        ("titan x", 12, 12),
        ("12 GB card", 12, 12),
        ("rtx 4070", 12, 25),
        ("h100", 80, 52.8),
        ("rtx 4090", 24, 25),
        ("ipu mk2", 0.943718400, 25),
    ],
)
def test_a_step_is_fitted_into_what_the_card_is_sold_as(
    name: str, room: float, link: float
) -> None:
    device = hardware.find(name)
    assert device.room == round(room * 10**9) <= device.memory.value
    assert device.wire.speed == link * 10**9


def test_a_room_is_never_larger_than_the_memory() -> None:
    assert all(each.room <= each.memory.value for each in hardware.DEVICES.values())
