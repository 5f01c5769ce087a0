"""A check that takes long shows in its cell that it works; at the end its report stands there."""

CHECK = """
import time
from memlab import lesson

def images_that_fit(card, fixed, each):
    time.sleep(PAUSE)
    return max(0, (card * 10**9 - fixed) // each)

PAUSE = 0
exercise = lesson.exercise("00.images_that_fit")
exercise.check(images_that_fit)
"""
AGAIN = """() => {
    const notebook = jupyterapp.shell.currentWidget.content;
    const source = notebook.widgets[0].model.sharedModel;
    source.setSource(source.getSource().replace("PAUSE = 0", "PAUSE = 0.2"));
    notebook.activeCellIndex = 0;
    window.ran = jupyterapp.commands.execute("notebook:run-cell");
}"""
OUTPUTS = """() => jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.outputs
    .map(output => output.data?.["text/plain"])"""


def test_a_check_that_takes_long_shows_that_it_works(open_cells):
    page = open_cells(CHECK)
    report = page.get_by_text("Agrees on 60 fresh cases.")
    report.wait_for()
    assert page.evaluate(OUTPUTS) == ["Agrees on 60 fresh cases."]
    page.evaluate(AGAIN)
    line = page.get_by_text("Checking images_that_fit on 60 fresh cases:")
    line.wait_for(timeout=60_000)
    first = line.inner_text()
    page.wait_for_function(
        "before => document.querySelector('.jp-OutputArea').innerText.includes('so far')"
        " && !document.querySelector('.jp-OutputArea').innerText.includes(before)",
        arg=first,
        timeout=60_000,
    )
    report.wait_for(timeout=120_000)
    assert line.count() == 0
    assert page.evaluate(OUTPUTS) == ["", "Agrees on 60 fresh cases."]
