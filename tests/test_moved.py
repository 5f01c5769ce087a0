"""Imports of modules that moved, and files that were saved, work for one more version."""

import json
import shutil
from importlib import import_module
from pathlib import Path

import pytest

import memlab
from memlab import moved
from memlab.lesson import progress
from tests.rows import every_row

SAVED = Path(__file__).parent / "saved"
"""Files that an earlier version wrote."""
NAMES = {
    "views.arena.addresses": "AddressMap addresses",
    "views.copies": "ShiftedCopies shifted_copies",
    "views.course.cards": "PredictionCard prediction_card",
    "views.course.case": "OneCase case",
    "views.course.exercises": "ExerciseCard exercise_card",
    "views.explain": "ExplainedModel explain",
    "views.idle": "IdleMaps idle",
    "views.live.view": "View",
    "views.lowering.tile": "SharedTile shared_tile",
    "views.lowering.times": "AlgorithmTimes TimeAndMemory algorithm_times",
    "views.lowering.warp": "WarpMemory warp_memory",
    "views.memory": "Memory memory",
    "views.numbers.number": "NumberBits number",
    "views.numbers.precision": "FormatsByRole precision",
    "views.numbers.training": "GradientHistogram RunningSum TrainingCurves gradient_histogram "
    "running_sum training_curves",
    "views.offload": "Offloaded offload",
    "views.path": "DataPathView path",
    "views.recompute": "Recompute recompute",
    "views.run": "PlannedAndMeasured planned_and_measured",
    "views.techniques": "Techniques techniques",
    "views.totals": "StepTotals totals",
    "views.vectors.batches": "BatchTimes batch_times",
    "views.vectors.filled": "FilledVectors vectors",
    "views.vectors.lanes": "MemoryRate VectorLanes memory_rate vector_lanes",
    "views.ways": "WaysOut ways",
}
"""The pictures and widgets by the modules in which they were."""
OTHERS = {
    "studies.figures": "ratio Study", "studies.memory.recipe": "network_of", "views.draw": "",
    "views.draw.chart": "Chart", "views.draw.marks": "Rect", "views.draw.page": "Still Page",
    "views.draw.scale": "bytes_over", "views.draw.table": "Table", "views.draw.theme": "PAINTS",
    "views.live.setting": "Range",
}  # fmt: skip
"""What else was imported by who wrote a picture of their own."""


def test_every_row_leads_to_a_module():
    for old, new in moved.MODULES.items():
        assert moved.new_place(old) == import_module(f"memlab.{new}").__name__


def test_pictures_and_what_draws_them_are_found_where_they_were():
    for old, names in (NAMES | OTHERS).items():
        module = import_module(f"memlab.{old}")
        for name in names.split():
            with pytest.warns(FutureWarning, match=f"memlab.{old} is memlab.* now"):
                value = getattr(module, name)
            assert value is getattr(memlab.views, moved.NAMES.get(name, name), value)


@every_row("old", [*moved.RENAMED])
def test_a_class_is_found_by_its_old_name(old):
    module, _, name = old.rpartition(".")
    with pytest.warns(FutureWarning, match=f"{name} is memlab.{module}.{moved.RENAMED[old]} now"):
        value = getattr(import_module(f"memlab.{module}"), name)
    assert value.__name__ == moved.RENAMED[old]


def test_a_view_with_methods_of_old_names_works():
    with pytest.warns(FutureWarning, match=r"Old\.line is Old\.test_state now"):

        class Old(memlab.views.View[int]):
            def line(self, now):
                return "8"

    assert vars(Old)["test_state"](None, None) == "8"


@pytest.mark.parametrize("module", [memlab, memlab.views])
def test_a_public_name_that_is_old_warns(module):
    with pytest.warns(FutureWarning, match=f"{module.__name__}.ways is .*.remedies now"):
        assert module.ways is module.remedies
    assert "ways" not in dir(module)


def test_a_step_is_made_by_a_module_of_the_old_name():
    with pytest.warns(FutureWarning, match="memlab.layers.row is memlab.layers.layer_kind now"):
        from memlab.layers.row import Row  # type: ignore[import-not-found]  # it moved
    assert Row.__name__ == "LayerKind"


def test_the_warning_names_the_line_that_imports():
    with pytest.warns(FutureWarning) as heard:
        from memlab.views.memory import Memory  # type: ignore[import-not-found]  # it moved
    assert heard[0].filename == __file__
    assert Memory is memlab.views.Memory


def test_an_old_module_hides_no_picture_of_its_name():
    import_module("memlab.views.memory")
    assert memlab.views.memory.__name__ == "memory"


def test_a_module_that_never_was_is_missing():
    with pytest.raises(ModuleNotFoundError, match=r"memlab\.studies\.nothing"):
        import_module("memlab.studies.nothing")
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from memlab.views import nothing  # type: ignore[attr-defined]  # noqa: F401


# -- files --------------------------------------------------------------------------------------


def test_a_plan_that_was_saved_is_loaded():
    net = memlab.network("two layers", features=3).linear(4).relu().linear(2).cross_entropy()
    assert memlab.load(SAVED / "plan.json") == memlab.plan(memlab.training_step(net, "adam"))


def test_progress_that_was_saved_goes_on(tmp_path, monkeypatch):
    path = Path(shutil.copy(SAVED / "progress.json", tmp_path))
    monkeypatch.setenv("MEMLAB_PROGRESS", str(path))
    assert "6.4 MB" in progress.text(progress.read(path), path)
    progress.answered("02.output", "6.4 MB", True)
    before, now = (json.loads(each.read_text("utf-8")) for each in (SAVED / "progress.json", path))
    assert now["cards"]["02.output"][:-1] == before["cards"]["02.output"]
    assert now["exercises"] == before["exercises"]


@pytest.mark.parametrize("name", ["plan.json", "progress.json"])
def test_a_saved_file_names_no_module(name):
    """The schema alone is called ``memlab.ledger/1``, or alike."""
    kept = json.loads((SAVED / name).read_text("utf-8"))
    del kept["schema"]
    assert "memlab" not in json.dumps(kept)
