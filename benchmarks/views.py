"""How long a live view takes from a slider's event to its next picture, and which part takes it.

The views lie above this package, so they are timed in a process of their own, as a notebook's
kernel is one.
"""

from __future__ import annotations

from memlab.measure.timing import BenchmarkLine, Result, in_fresh_process, line, machine, ratio

AIM, LENGTH_AIM = 0.025, 0.15
"""Seconds from event to picture, in Python: of a plan that is there, and of a step that is built
anew."""
PARTS = ("settings", "study", "page", "svg", "text")

TIMED = """
import json, sys
from dataclasses import replace
from memlab import views
from memlab.measure.timing import interleave

view = views.memory("resnet50", free=False)
texts = views.length("gpt2")
batches = 32, 64
kept = {}

def settings(turn):
    kept["state"] = view.changed(view.state, batch=batches[turn % 2])

def study(turn):
    view.rows_of(kept["state"])

def page(turn):
    kept["page"] = view.compose(replace(view.scene(live=True), now=kept["state"]))

def svg(turn):
    kept["page"].render("key", standalone=False)

def text(turn):
    kept["page"].text()

def event(turn):
    events = [{"name": "batch", "value": 5 + turn % 2, "dragging": False}]
    view._receive(view, {"view": "bench", "number": turn, "events": events}, [])

def length(turn):  # no length comes twice: each makes new plans
    events = [{"name": "length_number", "value": 600 + 7 * turn, "dragging": False}]
    texts._receive(texts, {"view": "bench", "number": turn, "events": events}, [])

parts = {each.__name__: each for each in (settings, study, page, svg, text)}
samples = {name: [] for name in (*parts, "event", "length")}
for turn in range(int(sys.argv[1])):
    for name, case in (*parts.items(), ("event", event), ("length", length)):
        samples[name] += interleave({name: lambda _: case(turn)}, repeats=1, warm_up=0)[name]
print(json.dumps({name: seconds[1:] for name, seconds in samples.items()}))
"""


def run(repeats: int = 40) -> Result:
    """Time the parts of one slider event of the memory view, ResNet-50 from batch 32 to 64; and an
    event of the view of a text's length, which builds the step of GPT-2 small anew."""
    samples = in_fresh_process(TIMED, str(repeats + 1))
    return Result("views", machine(), tuple(lines(samples)))


def lines(samples: dict[str, list[float]]) -> list[BenchmarkLine]:
    """The whole event, each of its parts, what share of the event that is, and a new length."""
    event = tuple(samples["event"])
    found = [line("memory view, ResNet-50, a slider's event", event, AIM)]
    for name in PARTS:
        found.append(line(f"{name} alone", tuple(samples[name])))
    drawn = ratio("svg, against the event", tuple(samples["svg"]), event)
    anew = line("length view, GPT-2, a new length", tuple(samples["length"]), LENGTH_AIM)
    return [*found, drawn, anew]
