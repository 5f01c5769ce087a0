"""Record the models of lesson 12 again: `python -m lessons.models`, where PyTorch is installed.

Each becomes a file of `data/models`, with the version and the date: its step for any batch, and for
one batch and one card the changes that were found to make it fit. Lessons open these files, so that
they need no PyTorch.
"""

from __future__ import annotations

from datetime import date

from memlab import units
from memlab.lesson.material.recorded_models import FOLDER, NAMES
from memlab.pictures.explain import recorded_model
from memlab.pictures.explain.own_model import OwnModel

COMMAND = "python -m lessons.models"
CHANGES = {
    "vgg16": ("fused", "one_by_one"), "vgg16_fused": ("parts", "autocast"),
    "words": ("parts", "chunked", "again"),
}  # fmt: skip
"""Changes that the lesson speaks of, of those that were found for a model."""
WHERE = "recorded with PyTorch {version}, {date}, `{command}`"


def main() -> None:
    """All of them."""
    import torch

    from memlab.lesson.material.torch_models import ASKED, MODELS

    version = torch.__version__.partition("+")[0]
    where = WHERE.format(version=version, date=date.today().isoformat(), command=COMMAND)
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        model = OwnModel(**MODELS[name])
        batch, memory = ASKED.get(name, (0, "0 B"))
        found = model.changes(batch, units.parse(memory)) if batch else ()
        changes = [change for change in found if change.key in CHANGES[name]]
        recorded_model.save(model, changes, FOLDER / f"{name}.json", where)
        print(f"{name}: {len(model.step.ops)} operations, {len(changes)} changes", flush=True)


if __name__ == "__main__":
    main()
