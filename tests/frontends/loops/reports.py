"""Ten public reports of memory that ran out, each reproduced small, with its remedy by hand.

    python -m tests.frontends.loops.reports [--only pytorch_2672] [--save]

Each report is a function that returns a loop, as it was reported or with the remedy. A line has the
bytes of PyTorch's allocator on a processor before and after, and memlab's peaks of both; below it
are the sentences of ``memlab explain`` on the loop as it was reported. It needs peft and timm for
one report.
"""

from __future__ import annotations

import argparse
import json
import textwrap
import warnings
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from tests.frontends.loops.__main__ import import_libraries, in_copy
from tests.frontends.loops.cases import Loop
from tests.frontends.loops.language import llama
from tests.frontends.loops.plain import convolutions, pictures
from tests.frontends.loops.truths import allocated_bytes

SAVED = Path(__file__).with_name("reports.json")
REPORTS: dict[str, Callable[[bool], Loop]] = {}
"""Reports by name: the function gets True for the loop with the remedy."""


def report(make: Callable[[bool], Loop]) -> Callable[[bool], Loop]:
    """Register a report."""
    REPORTS[make.__name__] = make
    return make


def trained(model: Any, loss: Callable[[Any], Any], optimizer: Any = None) -> Callable[[Any], None]:
    """Return the usual step of a model."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = optimizer or torch.optim.Adam(parameters)

    def step(batch: Any) -> None:
        optimizer.zero_grad()
        loss(batch).backward()
        optimizer.step()

    return step


@report
def torchinfo_144(remedy: bool) -> Loop:
    """One linear layer that runs 100 times: segments of ten are recomputed."""
    layer = nn.Linear(256, 256)

    def ten(x: Any) -> Any:
        for _ in range(10):
            x = layer(x).relu()
        return x

    def loss(x: Any) -> Any:
        for _ in range(10):
            x = checkpoint(ten, x, use_reentrant=False) if remedy else ten(x)
        return x.mean()

    return trained(layer, loss), torch.randn(256, 256)


@report
def pytorch_97712(remedy: bool) -> Loop:
    """Optimizer whose foreach operators take temporaries for all parameters: foreach=False."""
    model = nn.Sequential(*(nn.Linear(512, 512) for _ in range(8)))
    optimizer = torch.optim.Adam(model.parameters(), foreach=not remedy)
    return trained(model, lambda x: model(x).mean(), optimizer), torch.randn(16, 512)


@report
def peft_2196(remedy: bool) -> Loop:
    """LoRA on convolutions, which keeps the input of each: the blocks are recomputed."""
    import timm
    from peft import LoraConfig, get_peft_model

    base = timm.create_model("resnet18", num_classes=10)
    base.set_grad_checkpointing(remedy)
    config = LoraConfig(r=8, target_modules=["conv1", "conv2"], modules_to_save=["fc"])
    model: Any = get_peft_model(base, config)
    return trained(model, lambda batch: F.cross_entropy(model(batch[0]), batch[1])), pictures(8, 96)


@report
def pytorch_40005(remedy: bool) -> Loop:
    """Losses of four layers, each with backward(retain_graph=True): one backward of their sum."""
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(256, 256), nn.GELU()) for _ in range(4))
    optimizer = torch.optim.Adam(blocks.parameters())
    hidden: list[Any] = []

    def step(batch: Any) -> None:
        nonlocal hidden
        optimizer.zero_grad()
        outputs = [batch[0]]
        for block in blocks:
            outputs.append(block(outputs[-1]))
        losses = [F.mse_loss(output, batch[1]) for output in outputs[1:]]
        if remedy:
            torch.stack(losses).sum().backward()
        else:
            hidden = outputs  # a name that lives on, as in a script
            for loss in losses:
                loss.backward(retain_graph=True)
        optimizer.step()

    return step, (torch.randn(2048, 256), torch.randn(2048, 256))


@report
def labelmodels_4(remedy: bool) -> Loop:
    """Running sum of validation losses, each with its graph: running += loss.item()."""
    model = convolutions()
    optimizer = torch.optim.Adam(model.parameters())
    running: Any = 0.0

    def step(batch: Any) -> None:
        nonlocal running
        optimizer.zero_grad()
        F.cross_entropy(model(batch[0]), batch[1]).backward()
        optimizer.step()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        running += loss.item() if remedy else loss

    return step, pictures()


@report
def ms_swift_6966(remedy: bool) -> Loop:
    """Scores of a large vocabulary in fp32: the loss is computed in eight parts, recomputed."""
    model = llama().to(torch.bfloat16)
    model.lm_head = nn.Linear(128, 16000, bias=False, dtype=torch.bfloat16)

    def part(hidden: Any, labels: Any) -> Any:
        return F.cross_entropy(model.lm_head(hidden).float(), labels, reduction="sum")

    def loss(ids: Any) -> Any:
        hidden = model.model(input_ids=ids).last_hidden_state[:, :-1].flatten(0, 1)
        labels = ids[:, 1:].flatten()
        if not remedy:
            return part(hidden, labels) / len(labels)
        parts = zip(hidden.chunk(8), labels.chunk(8), strict=True)
        sums = [checkpoint(part, *each, use_reentrant=False) for each in parts]
        return torch.stack(sums).sum() / len(labels)

    return trained(model, loss), torch.randint(4000, (4, 129))


@report
def pytorch_78731(remedy: bool) -> Loop:
    """Checkpoint on single layers, which saves nothing: segments of four layers."""
    layers = nn.Sequential(*(nn.Linear(256, 256) for _ in range(16)))

    def loss(x: Any) -> Any:
        if remedy:
            return checkpoint_sequential(layers, 4, x, use_reentrant=False).mean()
        for layer in layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return x.mean()

    return trained(layers, loss), torch.randn(4096, 256)


@report
def pytorch_2672(remedy: bool) -> Loop:
    """Frozen VGG whose classifier has most parameters: a head on pooled features."""
    widths, layers = (3, 32, 64, 64), list[nn.Module]()
    for inside, outside in pairwise(widths):
        layers += [nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
    features = nn.Sequential(*layers).requires_grad_(False)
    pooled = nn.AdaptiveAvgPool2d(1 if remedy else 7)
    width = 64 * (1 if remedy else 49)
    classifier = nn.Sequential(nn.Linear(width, 1024), nn.ReLU(True), nn.Linear(1024, 10))
    model = nn.Sequential(features, pooled, nn.Flatten(), classifier)
    return trained(model, lambda batch: F.cross_entropy(model(batch[0]), batch[1])), pictures(4, 64)


@report
def semseg_60(remedy: bool) -> Loop:
    """Validation without no_grad: torch.no_grad."""
    model = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Conv2d(3, 3, 3, padding=1),
                                                                  nn.ReLU())))  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters())

    def step(batch: Any) -> None:
        model.train()
        optimizer.zero_grad()
        model(batch[:4]).mean().backward()
        optimizer.step()
        model.eval()
        with torch.set_grad_enabled(not remedy):
            model(batch)

    return step, torch.randn(16, 3, 96, 96)


@report
def easylm_36(remedy: bool) -> Loop:
    """Accumulation over batches as large as before, for which the sum of gradients has no room:
    parts of a quarter."""
    model = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(512, 512), nn.GELU())))
    optimizer = torch.optim.Adam(model.parameters())

    def step(batch: Any) -> None:
        optimizer.zero_grad()
        for x in batch.chunk(8 if remedy else 2):
            (model(x).mean() / 2).backward()
        optimizer.step()

    return step, torch.randn(2048, 512)


def figures(name: str, remedy: bool, part: str) -> dict[str, Any]:
    """Return a figure of a report: ``A``, or ``memlab`` with its sentences."""
    torch.manual_seed(0)
    if part == "A":
        return {"nbytes": allocated_bytes(lambda: REPORTS[name](remedy))}
    from memlab.pictures.explain.report import told

    step, batch = REPORTS[name](remedy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, _ = told(step=step, batch=batch, memory="1 MB", device="cpu", progress=False)
    said = [*filter(None, [rows.subject.growth]), *rows.sentences]
    changes = [] if remedy else [[change.key, change.title, change.peak(rows.batch)]
                                 for change in rows.changes]  # fmt: skip
    return {"nbytes": rows.peak.nbytes, "sentences": said, "changes": changes}


def line(name: str) -> dict[str, Any]:
    """Return the figures of a report, before and after its remedy, and print them."""
    parts = [in_copy(partial(figures, name, remedy, part), part)
             for remedy in (False, True) for part in ("A", "memlab")]  # fmt: skip
    before, planned, after, planned_after = (part.get("nbytes", 0) for part in parts)
    title = " ".join((REPORTS[name].__doc__ or "").split())
    print(f"{name:16}{before:>13,} -> {after:>13,}   memlab {planned:>13,} -> {planned_after:>13,}")
    said = [*(str(value) for part in parts for key, value in part.items() if "said" in key),
            title, *parts[1].get("sentences", [])]  # fmt: skip
    said += [f"{title}: {nbytes:,}" for _, title, nbytes in parts[1].get("changes", [])]
    print(
        *(textwrap.indent(textwrap.fill(text, 96), "    ") for text in said), sep="\n", flush=True
    )
    return {"name": name, "title": title, "A": before, "A with the remedy": after,
            "memlab": planned, "memlab with the remedy": planned_after,
            "sentences": parts[1].get("sentences"), "changes": parts[1].get("changes")}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="names of reports, with commas")
    parser.add_argument("--save", action="store_true", help="write reports.json")
    given = parser.parse_args()
    torch.set_num_threads(1)
    import_libraries({"timm", "peft"})
    rows = [line(name) for name in (given.only.split(",") if given.only else REPORTS)]
    if given.save:
        SAVED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
