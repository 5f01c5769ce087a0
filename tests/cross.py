"""Every network of the zoo with every technique and every legal pair of them, run once, by hand.

    python -m tests.cross --write before.txt      # with the code before
    python -m tests.cross --against before.txt    # with the code after
    python -m tests.cross --of 3 --only tokens    # triples too, of one network

Each run must end with residual 0. A technique that changes no arithmetic must leave the values of
the step before it, bit for bit. What a run gives and what is planned for it becomes a line of
digests, by which two versions of memlab are compared. The techniques are those of the registry, a
choice of each that has a list of values after another: a new one needs no line here.

Networks keep their layers and stages; images are small, and convolutions and linear layers have a
part of their channels (``--width 1``: all of them). After a change of kernels run it twice: the
process that compiles those of Fourier's transform gets other last bits than all later ones.
``--only`` also takes the small networks of ``tests.staged_networks``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import memlab
from memlab.techniques import registry
from tests import staged_networks

BATCH = 2
WIDTH = 16
"""By how much channels and features are divided where nothing else depends on them."""
SMALL: dict[str, dict[str, int]] = {
    "linear1": {},
    "mnist_cnn": {"image": 16},
    "alexnet": {"image": 79, "classes": 10},
    "overfeat": {"image": 71, "classes": 10},
    "rnn": {"steps": 5, "features": 3, "hidden": 7, "classes": 3},
    "lstm": {"steps": 5, "features": 3, "hidden": 7, "classes": 3},
    "gpt2": {"steps": 9, "layers": 2, "features": 12, "heads": 3, "vocabulary": 17},
    "gpt_small": {"steps": 9, "layers": 2, "features": 12, "heads": 3, "vocabulary": 17},
    "vit_s": {"image": 32, "classes": 10, "layers": 2, "features": 12, "heads": 3},
}
"""Sizes of a lesson; the other networks take images of 32 and 10 classes."""
WIDTHS = {"conv2d": "out_channels", "linear": "out_features"}
WHOLE = ("linear1", "rnn", "lstm", "gpt2", "gpt_small", "vit_s")
"""Networks that are small by their own arguments."""

Step = memlab.Step
Rewrite = Callable[[Step], Step]


def network(name: str, width: int) -> memlab.Network:
    """A network of the zoo at lesson size, or a small one of the tests."""
    if name in staged_networks.NETWORKS:
        return staged_networks.NETWORKS[name]
    found = memlab.zoo.ZOO[name](**SMALL.get(name, {"image": 32, "classes": 10}))
    return found if name in WHOLE or width == 1 else _narrowed(found, width)


def _narrowed(whole: memlab.Network, width: int) -> memlab.Network:
    """The same layers in the same stages, with fewer channels and features but in the last one."""
    start = memlab.network(whole.name, image=whole.input_shape, title=whole.title)
    outputs: dict[str, Any] = {"input": start}
    for node in whole.nodes:
        size = WIDTHS.get(node.kind, "")
        layer: Any = node.layer
        if size and whole.loss.inputs != (node.name,):
            layer = replace(layer, **{size: -(-getattr(layer, size) // width)})
        with start.stage(node.stage or "net"):
            first, *others = (outputs[source] for source in node.inputs)
            outputs[node.name] = first.then(layer, *others, name=node.name)
    return outputs[whole.loss.name].close()  # type: ignore[no-any-return]  # outputs are of any kind


# -- techniques ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Technique:
    """How a step is rewritten. Of one ``family`` a step has one; ``exact`` ones keep every bit."""

    name: str
    family: str
    rewrite: Rewrite
    exact: bool = True
    optimizer: str = "sgd"


GIVEN: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("recompute", "slots"): {"k": 4}, ("recompute", "greedy"): {"batch": BATCH},
    ("recompute", "chain"): {"batch": BATCH}, ("recompute", "exact"): {"batch": BATCH},
}  # fmt: skip
"""What a choice needs; the layers of recompute are those of the network."""
LEFT = {
    "lowering": ("im2col-image", "mec", "implicit-gemm"),  # the usual one, the slow, of a GPU alone
    "offload": ("none", "dynamic", "best"),  # nothing moves, or a search for seconds
}
OPTIMIZER = {"eight_bit_states": "adam"}
"""Where a technique asks for a state in fp32."""
NAMES = {"precision": "", "lowering": "", "relu_masks": "masks",
         "eight_bit_states": "eight-bit states"}  # fmt: skip
"""What some are called in files of digests, before their choice."""
PLACED = Technique("placed", "placement", lambda step: step)


def techniques(plain: Step) -> list[Technique]:
    """All of them, in the order in which they are applied."""
    found = [each for row in registry.techniques().values() if row.built
             for each in _choices(row, plain)]  # fmt: skip
    return [*found, PLACED]


def _choices(row: registry.Technique, plain: Step) -> list[Technique]:
    """A technique with every choice that has a list of values, else as it is without arguments."""
    optimizer, name = OPTIMIZER.get(row.name, "sgd"), NAMES.get(row.name, row.label)
    if not row.values:
        return [Technique(name, row.name, registry.applied(row.name), row.exact, optimizer)]
    return [
        Technique(
            f"{name} {how}".strip(), row.name, _rewrite(row, how, plain), row.exact, optimizer
        )
        for how in row.values
        if how not in LEFT.get(row.name, ())
    ]


def _rewrite(row: registry.Technique, how: str, plain: Step) -> Rewrite:
    """A technique by one choice; which maps recompute keeps or drops is the plain step's."""
    given = dict(GIVEN.get((row.name, how), {}))
    if "layers" in row.takes(how).needs:
        given["layers"] = _places(plain) if how == "keep" else _forward(plain)[::2]
    return registry.applied(row.name, how, **given)


def _forward(step: Step) -> list[str]:
    return [op.name for op in step.ops if op.phase == "forward"]


def _places(step: Step) -> list[str]:
    """Where a step can be cut, after about a third and two thirds of forward."""
    names, found = _forward(step), list[str]()
    for first in (len(names) // 3, 2 * len(names) // 3):
        found += next(([name] for name in names[first:] if _cuts(step, name)), [])
    return list(dict.fromkeys(found)) or names[:1]


def _cuts(step: Step, name: str) -> bool:
    try:
        memlab.recompute(step, "keep", layers=[name])
    except memlab.InputError:
        return False
    return True


def together(every: Iterable[Technique], most: int) -> list[tuple[Technique, ...]]:
    """None, each one, every two of different families, and so on up to ``most``, in their order."""
    every = list(every)
    sets = (chosen for count in range(most + 1) for chosen in combinations(every, count))
    return [chosen for chosen in sets if len({each.family for each in chosen}) == len(chosen)]


# -- what a run gives, as digests ----------------------------------------------------------------


def digest(*parts: object) -> str:
    """The first digits of a SHA-256 of bytes, and of anything else as text."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part if isinstance(part, bytes) else repr(part).encode())
    return found.hexdigest()[:12]


def arrays(of: Mapping[str, Any]) -> str:
    """The digest of arrays, in the order of their names."""
    rows = ((n, str(of[n].dtype), of[n].shape, of[n].tobytes()) for n in sorted(of))
    return digest(*(part for row in rows for part in row))


def planned(step: Step) -> dict[str, object]:
    """What is planned for a step: bytes, operations, blocks."""
    ledger = memlab.plan(step)
    lines = [(ledger.before(BATCH, m), ledger.timeline(BATCH, m), ledger.after(BATCH, m))
             for m in ("device:0", "host")]  # fmt: skip
    ops = [(op.name, op.kind, str(op.phase), op.algorithm, op.flops.at(BATCH),
            op.bytes_moved.at(BATCH), op.stream, op.after) for op in step.ops]  # fmt: skip
    entries = sorted((e.name, str(e.role), e.size.at(BATCH), e.birth, e.death, e.format, e.layer,
                      e.stage, e.memory) for e in ledger.entries)  # fmt: skip
    return {
        "peak": ledger.peak(BATCH),
        "host": ledger.peak(BATCH, "host"),
        "timeline": digest(lines),
        "operations": digest(ops),
        "entries": digest(entries),
    }


def given(run: memlab.Run) -> dict[str, object]:
    """What a run gives: the loss, gradients and parameters, and its residual."""
    return {
        "loss": repr(run.loss),
        "gradients": arrays(run.gradients),
        "parameters": arrays(run.parameters),
        "residual": run.residual,
        "nan": len(run.nan),
    }


VALUES = ("loss", "gradients", "parameters")


# -- one network ---------------------------------------------------------------------------------


@dataclass
class Crossed:
    """The combinations of a network: a line for each, and what is wrong with it."""

    name: str
    lines: dict[str, dict[str, object]] = field(default_factory=dict)
    same: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Cross:
    """Runs the combinations of one network. What a technique refuses of the plain step it refuses
    of all others too, and is not asked again."""

    def __init__(self, name: str, of: memlab.Network) -> None:
        self.network = of
        self.steps: dict[tuple[str, str], Step] = {}
        self.refusals: dict[str, str] = {}
        self.crossed = Crossed(name)

    def run(self, most: int) -> Crossed:
        """All of up to ``most`` techniques."""
        begin = time.perf_counter()
        for chosen in together(techniques(memlab.training_step(self.network, "sgd")), most):
            optimizer = next((t.optimizer for t in chosen if t.optimizer != "sgd"), "sgd")
            self._one(chosen, optimizer)
            if len(chosen) == 0:
                self._one(chosen, "adam")
        self.crossed.seconds = time.perf_counter() - begin
        return self.crossed

    def _one(self, chosen: tuple[Technique, ...], optimizer: str) -> None:
        name = " + ".join((optimizer, *(each.name for each in chosen)))
        try:
            line = self._line(chosen, optimizer)
        except memlab.InputError as error:
            self.crossed.refused += 1
            line = {"refused": str(error)}
            if len(chosen) == 1:
                self.refusals[chosen[0].name] = str(error)
        except Exception as error:  # a line to compare, and others follow
            self.crossed.wrong.append(f"{name}: {type(error).__name__}: {error}")
            line = {"failed": type(error).__name__}
        if line is None:
            self.crossed.same += 1
            return
        self.crossed.lines[name] = line
        if "residual" in line:
            self._check(name, line, chosen, optimizer)

    def _line(self, chosen: tuple[Technique, ...], optimizer: str) -> dict[str, object] | None:
        """The line of a combination; None where one of it changes nothing."""
        step = self._plain(optimizer)
        for each in chosen:
            if each.name in self.refusals:
                raise memlab.InputError(self.refusals[each.name])
            after = self._rewritten(each, optimizer) if each is chosen[0] else each.rewrite(step)
            if each is not PLACED and _alike(step, after):
                return None
            step = after
        kept = step.keep("gradients")
        placement = memlab.place(kept, BATCH) if PLACED in chosen else None
        run = memlab.run(step, BATCH, keep="gradients", placement=placement)
        where = {} if placement is None else {"arena": placement.arena}
        return {**given(run), **planned(kept), **where}

    def _plain(self, optimizer: str) -> Step:
        if ("", optimizer) not in self.steps:
            self.steps["", optimizer] = memlab.training_step(self.network, optimizer)
        return self.steps["", optimizer]

    def _rewritten(self, by: Technique, optimizer: str) -> Step:
        """The plain step after one technique: many pairs begin with it."""
        if (by.name, optimizer) not in self.steps:
            self.steps[by.name, optimizer] = by.rewrite(self._plain(optimizer))
        return self.steps[by.name, optimizer]

    def _check(
        self, name: str, line: dict[str, object], chosen: tuple[Technique, ...], optimizer: str
    ) -> None:
        """The plan holds, and the values are those of the step without what keeps every bit."""
        if line["residual"] or line["nan"]:
            self.crossed.wrong.append(f"{name}: residual {line['residual']}, NaN {line['nan']}")
        inexact = [each.name for each in chosen if not each.exact]
        before = self.crossed.lines.get(" + ".join((optimizer, *inexact)), {})
        other = [part for part in VALUES if before.get(part, line[part]) != line[part]]
        if other:
            self.crossed.wrong.append(f"{name}: other {', '.join(other)}")


def _alike(one: Step, other: Step) -> bool:
    """Whether nothing of a step was rewritten but its notes."""
    return (one.ops, one.live_in, one.live_out) == (other.ops, other.live_in, other.live_out)


def crossed(name: str, width: int, most: int) -> Crossed:
    """All combinations of one network."""
    return Cross(name, network(name, width)).run(most)


# -- all of them ---------------------------------------------------------------------------------


def every(names: list[str], width: int, most: int, jobs: int) -> Iterator[Crossed]:
    """Network by network, in so many processes."""
    one = partial(crossed, width=width, most=most)
    if jobs == 1:
        yield from map(one, names)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(one, names)


def differences(now: Crossed, before: Mapping[str, Mapping[str, object]]) -> list[str]:
    """What is not as in an earlier file, combination by combination."""
    found = []
    for name in dict.fromkeys((*before, *now.lines)):
        old, new = before.get(name), now.lines.get(name)
        if old is None or new is None:
            found.append(f"{name}: only {'after' if old is None else 'before'}")
            continue
        parts = [part for part in dict.fromkeys((*old, *new)) if old.get(part) != new.get(part)]
        if parts:
            shown = (f"{part} {old.get(part)} -> {new.get(part)}" for part in parts)
            found.append(f"{name}: {'; '.join(shown)}")
    return found


def read(path: Path) -> dict[str, dict[str, dict[str, object]]]:
    """The lines of a file by network and combination."""
    found: dict[str, dict[str, dict[str, object]]] = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        found.setdefault(line.pop("network"), {})[line.pop("combination")] = line
    return found


def written(of: Crossed) -> str:
    """The lines of one network."""
    lines = ({"network": of.name, "combination": name, **line} for name, line in of.lines.items())
    return "".join(json.dumps(line) + "\n" for line in lines)


ROW = "{:14}{:>8}{:>8}{:>9}{:>7}{:>13}{:>9}"


def main(arguments: list[str]) -> int:
    """Run, print the table, and tell whether anything is wrong or differs."""
    options = _options(arguments)
    before = read(options.against) if options.against else {}
    names = options.only or list(memlab.zoo.ZOO)
    file = options.write.open("w", encoding="utf-8") if options.write else None
    print(ROW.format("network", "run", "same", "refused", "wrong", "differences", "seconds"))
    bad = 0
    for each in every(names, options.width, options.of, options.jobs):
        others = differences(each, before.get(each.name, {})) if options.against else []
        ran = len(each.lines) - each.refused
        counts = (ran, each.same, each.refused, len(each.wrong), len(others))
        print(ROW.format(each.name, *counts, f"{each.seconds:.0f}"))
        print(*(f"  {text}\n" for text in (*each.wrong, *others)), sep="", end="", flush=True)
        bad += len(each.wrong) + len(others)
        if file:
            file.write(written(each))
            file.flush()
    return 1 if bad else 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.cross", description="see the top")
    parser.add_argument("--write", type=Path, help="a file for the digests")
    parser.add_argument("--against", type=Path, help="a file of earlier ones to compare with")
    parser.add_argument("--only", action="append", metavar="NAME", help="one network; repeatable")
    parser.add_argument("--of", type=int, default=2, help="how many techniques meet at most")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--width", type=int, default=WIDTH, help="what channels are divided by")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
