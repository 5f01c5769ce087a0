"""A step that frees nothing, in cards: its bytes, its cards, its marks and its sentences."""

import re
from math import ceil
from random import Random

import pytest

import memlab
from memlab import views
from memlab.errors import InputError
from memlab.pictures.graphics_cards import MOST_CARDS, CardScale

GB = 10**9


def step(network="resnet50", batch=256, card=12):
    return views.graphics_cards(network, batch, most=max(batch, 256), card=card).rows


def picture(view, width=850):
    return view._picture(view.scene(width))


def test_the_bytes_are_those_of_the_plan_that_frees_nothing():
    kept = memlab.no_reuse(memlab.training_step(memlab.zoo.resnet50(), "momentum"))
    assert step().peak == memlab.plan(kept).peak(256) == sum(step().parts.values())


@pytest.mark.parametrize("network", ["resnet50", "vgg16", "mnist_cnn"])
def test_one_image_more_than_the_largest_number_does_not_fit(network):
    largest = step(network).largest
    assert step(network, largest).peak <= 12 * GB < step(network, largest + 1).peak


def test_the_prompt_follows_the_images():
    view = views.graphics_cards()
    said = {}
    for batch in (256, 46, 45, 44):
        view.batch = batch
        said[batch] = view.rows.prompt
    assert said[256] == said[46] == "Move the slider Images: how many fit one card?"
    assert said[45] == "This is the largest number of images that fits one card."
    assert said[44] == "Do more images fit?"


def test_the_prompt_names_the_ends():
    assert step("mnist_cnn").prompt == "All 256 images fit one card."
    assert step("vgg16", card=1).prompt == "Not even 1 image fits one card."


def test_the_step_is_named():
    origin = views.graphics_cards("vgg16", optimizer="adam").rows.origin
    assert origin == "planned, not run · VGG-16, Adam, fp32, nothing is freed"


def test_the_headline_counts_cards():
    assert step().headline == "256 images need 66.1 GB: 5.5 cards of 12 GB."
    assert step(batch=45).headline == "45 images need 11.9 GB and fit one card of 12 GB."
    assert step(batch=46).headline == "46 images need 12.1 GB: 1.01 cards of 12 GB."
    assert step(batch=1).headline == "1 image needs 572 MB and fits one card of 12 GB."


def test_a_byte_stands_on_its_card():
    """Cards are equally wide, with equal gaps; a full card ends before its gap."""
    scale, drawn = CardScale(0, 6 * 12, 12, 6), Random(5)
    assert scale.at(0) == 0
    assert scale.at(72) == scale.at(500) == 1
    wide = scale.at(12) - scale.at(0)
    for card in range(6):
        assert scale.at(12 * card + 12) - scale.at(12 * card + 1e-9) == pytest.approx(wide)
    places = sorted(drawn.uniform(0, 72) for _ in range(100))
    assert [scale.at(place) for place in places] == sorted(map(scale.at, places))


@pytest.mark.parametrize(("network", "batch"), [("resnet50", 256), ("vgg16", 200), ("resnet18", 7)])
def test_the_pieces_cover_all_bytes_once(network, batch):
    view = views.graphics_cards(network, batch)
    end = 0
    for _, first, last in picture(view)._pieces():
        assert first == end + 1
        assert (first - 1) // (12 * GB) == (last - 1) // (12 * GB)  # on one card
        end = last
    assert end == view.rows.peak


def test_the_number_of_cards_is_that_of_the_most_images():
    view = views.graphics_cards()
    count = picture(view).count
    view.batch = 45
    assert picture(view).count == count == ceil(step().peak / (12 * GB)) == 6
    assert picture(views.graphics_cards("vgg16", most=4096)).count == MOST_CARDS


def test_guesses_stand_at_their_bytes_and_only_for_the_question():
    view = views.graphics_cards(guess="18 GB", revision="40 GB")
    svg = view.svg()
    assert "your guess 18.0 GB" in svg
    assert "your revision 40.0 GB" in svg
    view.batch = 45
    assert "your guess" not in view.svg()


def test_a_guess_beyond_the_cards_points_on():
    assert "your guess 500 GB →" in views.graphics_cards(guess="500 GB").svg()


def test_a_revision_gives_way_to_the_answer():
    """At the same place one text is left, that of the answer, and the mark stays."""
    near = views.graphics_cards(guess="66 GB", revision="66.1 GB").svg()
    assert re.search(r">66\.1 GB<", near)
    assert "your guess 66.0 GB" in near


def test_the_page_keeps_its_height_while_images_move():
    view = views.graphics_cards(guess="18 GB")
    heights = set()
    for batch in (256, 200, 100, 45, 10):
        view.batch = batch
        heights.add(view.page(850).svg().height)
    assert len(heights) == 1


def test_every_part_is_named_once():
    shown = picture(views.graphics_cards())
    keyed = {name for _, name in shown.key().entries}
    for part in shown.step.parts:
        thin = shown._pixels(shown.step.parts[part]) < 6
        assert (part in shown.named) + any(part.label in name for name in keyed) + thin == 1


def test_the_line_of_python_names_the_variant():
    view = views.graphics_cards("resnet50-v1", 256)
    assert view.code() == "memlab.views.graphics_cards('resnet50-v1', batch=256)"


def test_a_network_of_ones_own_fills_cards():
    network = memlab.network("mine", image=(3, 16, 16)).conv(8, 3).flatten().linear(10)
    rows = views.graphics_cards(network.cross_entropy(), 256).rows
    assert sum(rows.parts.values()) == rows.peak < rows.budget


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"batch": 257}, "batch must be"),
        ({"most": 0}, "most must be at least 1, got 0"),
        ({"card": 0}, "card must be at least 1, got 0"),
        ({"guess": "many"}, "many"),
        ({"optimizer": "adams"}, "adam"),
        ({"network": "resnet51"}, "resnet50"),
    ],
)
def test_bad_input_gets_a_sentence(given, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        views.graphics_cards(**given)
