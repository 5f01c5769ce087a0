"""The look at texts that people read finds what it is for."""

from tests.raw_texts import raw
from tests.rows import every_row


@every_row(
    "text",
    [
        "128 step {'disk': '19.3 MB'}",
        "fp32 2.000046730041504",
        "12 GB card: fits, up to batch 230,769,227.",
        "('conv1', 3)",
        "array([1, 2])",
        "<memlab.Run object at 0x7f>",
    ],
)
def test_what_nobody_wrote_for_people_is_found(text: str) -> None:
    assert list(raw(text))


@every_row(
    "text",
    ["575,911,696 B = 576 MB", "2.936 GB (2.734 GiB)", "up to batch 1,000,000 and more",
     "a_tile = cuda.shared.array((T, T))", "None of them fits", "torch 2.13.0", "0.000123456"],
)  # fmt: skip
def test_what_people_read_is_passed_over(text: str) -> None:
    assert not list(raw(text))
