"""The guesses of a room in JupyterLab: they are pasted, and a key reveals the answer."""

from playwright.sync_api import expect

ROOT = ".memlab-view"


def test_a_room_guesses_and_the_answer_is_revealed(open_view):
    page = open_view("memlab.views.class_guesses('03.stride')")
    first = page.get_by_label("Guesses of the room: paste them, one on a line")
    first.fill("9\n9\n2.3\nno idea")
    first.press("Control+Enter")
    page.locator(f"{ROOT}[data-state='3||False']").wait_for()
    expect(first).to_have_value("9; 9; 2.3; no idea")
    assert page.locator(f"{ROOT} svg", has_text="Answer: ").count() == 0
    later = page.get_by_label("Answers after the discussion")
    later.fill("2.25 2.25 9")
    later.press("Control+Enter")
    page.locator(f"{ROOT}[data-state='3|3|False']").wait_for()
    page.locator(f"{ROOT} .ml-picture").focus()
    page.keyboard.press("KeyR")
    said = "Answer: 2.25 x. 1 of 3 (33 %) guessed it, and 2 of 3 (67 %) had it after that."
    page.locator(f"{ROOT} svg", has_text=said).wait_for()
