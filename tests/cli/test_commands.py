"""What the commands print and write."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import memlab
from memlab import cli, units
from memlab.ledger import files
from memlab.lesson import progress as record
from memlab.placement.placement import HOWS
from memlab.step.storage import DEVICE, HOST
from memlab.techniques.recompute import methods

SMALL = ["plan", "mnist_cnn", "--batch", "4"]


def numbers(text):
    return [int(word.replace(",", "")) for word in re.findall(r"\d[\d,]*", text)]


# -- plan ---------------------------------------------------------------------------------------

OPTIONS = [
    ["resnet50"],
    ["resnet50", "--variant", "v1", "--batch", "3", "--format", "fp16"],
    ["mnist_cnn", "--optimizer", "adam", "--batch", "1"],
    ["vgg16", "--inference", "--batch", "7"],
    ["linear1", "--optimizer", "sgd", "--convention", "cs231n"],
    ["rnn", "--batch", "4"],
    ["lstm", "--optimizer", "adam", "--batch", "2"],
    ["gpt_small", "--recompute", "cheap", "--in-place", "--batch", "4"],
    ["alexnet", "--image", "227", "--classes", "10", "--batch", "128"],
    ["vgg16", "--precision", "mixed fp16", "--optimizer", "adam"],
    ["resnet50", "--precision", "bf16", "--batch", "2"],
    ["vgg16", "--in-place", "--batch", "2"],
    ["vgg16", "--freeze", "conv*, fc6", "--batch", "2"],
    ["gpt_small", "--lora", "4", "--optimizer", "adam", "--batch", "2"],
    ["mnist_cnn", "--recompute", "every", "--recompute-k", "2", "--batch", "5"],
    ["resnet50", "--recompute", "chain", "--budget", "1GB", "--in-place", "--batch", "8"],
]


def planned(options):
    """The same plan through Python, from the command line's words."""
    words = dict(pairwise(options))
    sizes = {name: int(words[f"--{name}"]) for name in ("image", "classes") if f"--{name}" in words}
    network = memlab.zoo.build(options[0], **sizes, variant=words.get("--variant"))
    if "--freeze" in words:
        network = memlab.freeze(network, *words["--freeze"].split(", "))
    if "--lora" in words:
        network = memlab.lora(network, int(words["--lora"]))
    if "--inference" in options:
        step = memlab.inference_step(network)
    else:
        optimizer, format = words.get("--optimizer", "momentum"), words.get("--format", "fp32")
        step = memlab.training_step(network, optimizer, format)
    if "--precision" in words:
        step = memlab.precision(step, words["--precision"])
    batch = int(words.get("--batch", 32))
    if "--recompute" in words:
        k = int(words["--recompute-k"]) if "--recompute-k" in words else None
        at = batch if "--budget" in words else None
        step = memlab.recompute(
            step,
            words["--recompute"],
            k=k,
            batch=at,
            budget=words.get("--budget"),
            in_place=at is not None and "--in-place" in options,
        )
    step = memlab.in_place(step) if "--in-place" in options else step
    return network, step, memlab.plan(step), batch


@pytest.mark.table
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_plan_as_json_is_the_plan(as_json, options):
    network, step, ledger, batch = planned(options)
    facts = as_json("plan", *options)
    assert facts["schema"] == "memlab.plan/2"
    assert (facts["network"], facts["variant"]) == (network.name, network.variant or None)
    assert (facts["batch"], facts["format"]) == (batch, step.format)
    mode = options[options.index("--precision") + 1] if "--precision" in options else None
    asked = facts["techniques"]
    assert asked.get("precision") == (mode and {"mode": mode})
    assert asked.get("in_place") == ({} if "--in-place" in options else None)
    assert ("recompute" in asked) == ("--recompute" in options)
    assert facts["optimizer"] == (step.optimizer or None)
    assert facts["parameters"] == network.parameters
    rule = memlab.counting.find(facts["convention"])
    assert facts["feature_map_values"] == rule.values(network)
    timeline = ledger.timeline(batch)
    assert timeline[facts["peak_at"]["index"]] == facts["peak_bytes"] == max(timeline)
    assert facts["peak_at"]["op"] == step.ops[facts["peak_at"]["index"]].name
    assert facts["peak_at"]["phase"] == step.ops[facts["peak_at"]["index"]].phase


@pytest.mark.table
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_the_roles_add_up_to_the_peak(as_json, options):
    *_, ledger, batch = planned(options)
    facts = as_json("plan", *options)
    assert list(facts["roles"]) == [
        "input", "parameter", "buffer", "parameter_gradient", "optimizer_state", "feature_map",
        "gradient_map", "workspace",
    ]  # fmt: skip
    assert sum(facts["roles"].values()) == facts["peak_bytes"]
    at = facts["peak_at"]["index"]
    slope = ledger.timeline(batch + 1)[at] - ledger.timeline(batch)[at]
    assert sum(facts["roles_per_sample"].values()) == slope


def test_without_an_optimizer_the_json_says_null(as_json):
    assert as_json(*SMALL, "--inference")["optimizer"] is None


@pytest.mark.table
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_the_table_has_the_figures_of_the_json(run, as_json, options):
    facts = as_json("plan", *options)
    code, text, _ = run("plan", *options)
    assert code == 0
    lines = text.splitlines()
    assert lines[0] == facts["title"]
    assert facts["peak_bytes"] in numbers(lines[1])
    assert numbers(lines[2])[:2] == [facts["peak_at"]["index"] + 1, facts["operations"]]
    assert lines[2].endswith(f"{facts['peak_at']['op']} ({facts['peak_at']['phase']})")
    for role, nbytes in facts["roles"].items():
        (row,) = (line for line in lines if re.match(rf"{role.replace('_', ' ')} +\d", line))
        assert numbers(row)[0] == nbytes
        assert numbers(row)[-1] == facts["roles_per_sample"][role]
    (total,) = (line for line in lines if line.startswith("total "))
    assert numbers(total)[0] == facts["peak_bytes"]
    for block in facts["largest"]:
        assert any(line.endswith(block["formula"]) for line in lines)
        assert numbers(block["formula"])[-1] == block["bytes"]
    assert f"{facts['parameters']:,} parameters" in lines
    assert f"{facts['feature_map_values']:,} feature-map values per sample" in text


def test_the_headline_reads_as_people_say_it(run):
    _, text, _ = run("plan", "resnet50")
    assert text.startswith("ResNet-50 v1.5, batch 32, fp32, SGD with momentum, training\n")


def test_the_blocks_shown_and_the_others_add_up(run, as_json):
    facts = as_json(*SMALL)
    _, text, _ = run(*SMALL)
    (line,) = (line for line in text.splitlines() if " others: " in line)
    count, rest = numbers(line)
    assert count + len(facts["largest"]) == facts["alive"]
    assert rest + sum(block["bytes"] for block in facts["largest"]) == facts["peak_bytes"]


def test_save_writes_a_ledger_that_loads(run, tmp_path):
    target = tmp_path / "plan.json"
    code, _, _ = run(*SMALL, "--save", target)
    assert code == 0
    network = memlab.zoo.build("mnist_cnn")
    assert files.load(target) == memlab.plan(memlab.training_step(network))
    assert list(tmp_path.iterdir()) == [target]


def test_trace_writes_the_operations_for_perfetto(run, as_json, tmp_path):
    target = tmp_path / "trace.json"
    run(*SMALL, "--trace", target)
    events = json.loads(target.read_text(encoding="utf-8"))["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == as_json(*SMALL)["operations"]
    assert list(tmp_path.iterdir()) == [target]


def test_a_trace_that_cannot_be_finished_leaves_the_old_file(run, tmp_path, monkeypatch):
    target = tmp_path / "trace.json"
    target.write_text("old", encoding="utf-8")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "no")))
    code, _, err = run(*SMALL, "--trace", target)
    assert (code, err.count("\n")) == (2, 1)
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


# -- the other commands -------------------------------------------------------------------------


@pytest.mark.measures
@pytest.mark.parametrize("mode", ["fp16", "mixed bf16"])
def test_run_in_a_precision_measures_what_it_planned(run, as_json, mode):
    words = ["linear1", "--batch", "4", "--precision", mode]
    facts, code = as_json("run", *words), run("run", *words)[0]
    assert code == 0
    assert facts["techniques"] == {"precision": {"mode": mode}}
    assert facts["residual_bytes"] == 0
    assert facts["measured_peak_bytes"] == facts["planned_peak_bytes"]
    assert facts["planned_peak_bytes"] == as_json("plan", *words)["peak_bytes"]


def test_fit_in_mixed_precision_is_another_batch(as_json):
    words = ["fit", "resnet50", "--memory", "12GB"]
    mixed = as_json(*words, "--precision", "mixed fp16")
    assert mixed["batch"] > as_json(*words)["batch"]


def test_a_precision_of_several_words_is_refused_in_one_sentence(run):
    for words, says in {
        ("--precision", "mixed fp61"): "did you mean 'mixed fp16'",
        ("--precision", "mixed fp16", "--format", "bf16"): "got bf16; leave out its format",
    }.items():
        code, out, err = run("plan", "resnet50", *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert says in err


# -- techniques ---------------------------------------------------------------------------------

TECHNIQUES = [
    ["--no-reuse"],
    ["--in-place", "--no-reuse"],
    ["--recompute", "every", "--recompute-k", "2", "--in-place"],
    ["--recompute", "drop", "--recompute-layers", "relu, pool1", "--no-reuse"],
    ["--recompute", "chain", "--precision", "mixed fp16", "--in-place"],
    ["--offload", "all", "--in-place"],
    ["--offload", "conv", "--prefetch", "needed", "--in-place"],
    ["--recompute", "every", "--offload", "conv"],
    ["--accumulate", "2", "--in-place"],
    ["--optimizer", "adam", "--eight-bit-states", "--eight-bit-states-block", "128"],
    ["--relu-masks", "--lowering", "direct", "--recompute", "cheap"],
]


@pytest.mark.measures
@pytest.mark.parametrize("options", TECHNIQUES, ids=" ".join)
def test_run_with_techniques_measures_what_it_planned(as_json, options):
    words = ["mnist_cnn", "--batch", "3", *options]
    plan, facts = as_json("plan", *words), as_json("run", *words)
    assert facts["residual_bytes"] == 0
    assert plan["peak_bytes"] == facts["measured_peak_bytes"]
    for name in ("title", "techniques"):
        assert plan[name] == facts[name]
    assert facts["measured_host_bytes"] == plan["host_bytes"]
    assert bool(plan["host_bytes"]) == ("--offload" in options)
    assert facts["placement"] is facts["measured_arena_bytes"] is None


def test_a_budget_that_parts_break_is_refused(run):
    words = ["resnet18", "--recompute", "chain", "--batch", "4", "--accumulate", "2"]
    code, out, err = run("plan", *words, "--budget", "195MB")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "over 195,000,000 B; try a --budget of so much less" in err
    assert run("plan", *words, "--budget", "300MB")[0] == 0


def test_what_was_asked_of_recompute_is_in_the_json(as_json):
    words = ["plan", "mnist_cnn", "--recompute", "chain", "--budget", "1GB"]
    due = {"how": "chain", "budget": 10**9, "batch": 32, "in_place": False}
    assert as_json(*words)["techniques"] == {"recompute": due}


def test_reuse_in_place_and_recompute_each_take_less(as_json):
    lines = ("--no-reuse", "", "--in-place", "--in-place --recompute chain")
    words = ["plan", "resnet50", "--batch", "8"]
    peaks = [as_json(*words, *line.split())["peak_bytes"] for line in lines]
    assert peaks == sorted(peaks, reverse=True)
    assert len(set(peaks)) == len(peaks)


def test_a_budget_is_planned_for_in_place_where_that_follows(run, as_json):
    words = ["plan", "vgg11", "--image", "64", "--batch", "8", "--recompute", "chain"]
    least, both = (as_json(*words, *more)["peak_bytes"] for more in ([], ["--in-place"]))
    assert both < least
    _, _, error = run(*words, "--budget", str(both))
    assert f"{least:,} B, or {both:,} B with in place after it (in_place=True, --in-place)" in error
    facts = as_json(*words, "--budget", str(both), "--in-place")
    assert facts["peak_bytes"] <= both


def test_fit_after_techniques_is_a_larger_batch(as_json):
    words = ["fit", "resnet50", "--memory", "12GB"]
    facts = as_json(*words, "--recompute", "every", "--in-place")
    assert facts["techniques"]["recompute"]["how"] == "every"
    assert facts["batch"] > as_json(*words)["batch"]


@pytest.mark.parametrize("how", [how for how in HOWS if how != "exact"])
def test_a_plan_that_is_placed_has_arena_lower_bound_and_waste(run, as_json, how):
    words = ["plan", "mnist_cnn", "--batch", "4", "--place", how]
    facts = as_json(*words)
    found, step = facts["placement"], memlab.training_step(memlab.zoo.build("mnist_cnn"))
    placement = memlab.place(step, 4, how)
    assert (found["how"], found["alignment"]) == (how, placement.alignment)
    assert (found["arena_bytes"], found["lower_bound_bytes"], found["waste_bytes"]) == (
        placement.arena, placement.lower_bound, placement.waste,
    )  # fmt: skip
    code, text, _ = run(*words)
    arena, bound, whole = text.splitlines()[4:7]
    assert code == 0
    assert arena.endswith(f"{placement.arena:,} B, placed: {how}")
    assert numbers(bound) == [
        placement.lower_bound, placement.busiest + 1, facts["operations"], placement.waste,
    ]  # fmt: skip
    assert numbers(whole) == [facts["placed_peak_bytes"]]


def test_an_exact_placement_of_a_small_step(as_json):
    assert as_json("plan", "linear1", "--place", "exact")["placement"]["waste_bytes"] == 0


@pytest.mark.measures
def test_a_run_in_an_arena_measures_the_planned_one(run, as_json):
    words = ["mnist_cnn", "--batch", "3", "--in-place", "--place", "best"]
    plan, facts = as_json("plan", *words), as_json("run", *words)
    assert facts["placement"] == plan["placement"]
    assert facts["measured_arena_bytes"] == plan["placement"]["arena_bytes"]
    assert facts["measured_peak_bytes"] == plan["placed_peak_bytes"]
    assert (facts["residual_bytes"], facts["nan"]) == (0, [])
    code, text, _ = run("run", *words)
    (line,) = (line for line in text.splitlines() if line.startswith("arena "))
    placement = plan["placement"]
    assert code == 0
    assert numbers(line) == [
        placement["arena_bytes"], placement["lower_bound_bytes"], placement["waste_bytes"],
    ]  # fmt: skip
    assert "NaN" not in text


@pytest.mark.measures
def test_a_run_says_who_computed_with_what_was_free(run, monkeypatch):
    done = memlab.run(memlab.training_step(memlab.zoo.build("linear1")), 2, placement="best")
    wrong = replace(done, nan=("h", "tanh1", "y", "loss", "backward of loss"))
    monkeypatch.setattr(memlab, "run", lambda *_, **__: wrong)
    code, text, _ = run("run", "linear1", "--place", "best")
    assert code == 1
    assert "NaN       written by h, tanh1, y and 2 others" in text.splitlines()


@pytest.mark.parametrize("words", ["--recompute exact", "--recompute exact --budget 1GB"])
def test_without_scipy_one_sentence_says_so(run, monkeypatch, words):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    code, out, err = run("plan", "mnist_cnn", *words.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "needs scipy, which is not installed; try pip install scipy." in err


def test_without_scipy_what_needs_no_proof_is_placed(as_json, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    assert as_json("plan", "resnet50", "--place", "best")["placement"]["waste_bytes"] > 0


def test_fit_names_the_largest_batch(run, as_json):
    facts = as_json("fit", "resnet50", "--memory", "12GB")
    ledger = memlab.plan(memlab.training_step(memlab.zoo.build("resnet50")))
    assert ledger.peak(facts["batch"]) <= 12 * 10**9 < ledger.peak(facts["batch"] + 1)
    assert facts["network"] == "resnet50"
    _, text, _ = run("fit", "resnet50", "--memory", "12GB")
    assert f" {facts['batch']}:" in text
    assert facts["tensor"] in text


def test_fit_says_when_nothing_fits(run, as_json):
    assert as_json("fit", "vgg16", "--memory", "1MB")["batch"] == 0
    code, text, _ = run("fit", "vgg16", "--memory", "1MB")
    assert code == 0
    assert "Not even batch 1 fits" in text


def test_diff_tells_two_saved_plans_apart(run, as_json, tmp_path):
    before, after = tmp_path / "a.json", tmp_path / "b.json"
    peaks = [
        as_json(*SMALL, "--optimizer", optimizer, "--save", path)["peak_bytes"]
        for optimizer, path in (("sgd", before), ("adam", after))
    ]
    facts = as_json("diff", before, after, "--batch", "4")
    assert facts["change_bytes"] == peaks[1] - peaks[0] == sum(facts["roles"].values())
    _, text, _ = run("diff", before, after, "--batch", "4")
    assert "optimizer_state" in text


def test_diff_tells_the_two_memories_apart(run, as_json, tmp_path):
    plain, moved = tmp_path / "a.json", tmp_path / "b.json"
    as_json(*SMALL, "--save", plain)
    due = as_json(*SMALL, "--offload", "all", "--save", moved)["host_bytes"]
    facts = as_json("diff", plain, moved, "--batch", "4")
    assert (facts["memory"], facts["host"]["memory"]) == (DEVICE, HOST)
    assert facts["host"]["change_bytes"] == due == sum(facts["host"]["blocks"].values()) > 0
    _, text, _ = run("diff", moved, plain, "--batch", "4")
    assert f"The peak on the host changes by {units.short(-due)}" in text
    assert text.count("batch 4: nothing") == 1
    assert as_json("diff", plain, plain, "--batch", "4")["host"] is None


@pytest.mark.measures
def test_claims_can_be_listed_and_picked(run, as_json):
    everything = [*as_json("claims"), *as_json("claims", "--own")]
    row = as_json("claims", "A4")
    assert {claim["id"] for claim in row} == {
        claim["id"] for claim in everything if claim["id"].startswith("A4.")
    }
    _, text, _ = run("claims", "A4")
    for claim in row:
        assert claim["id"] in text
        assert claim["call"].split("(")[0] in text


def test_claims_of_a_text_and_of_a_verdict_are_picked(run, as_json):
    found = as_json("claims", "--text", "synced", "--verdict", "differs")
    assert [claim["text"] for claim in found] == [["synced"]] * 2
    assert all(claim["verdict"] == "differs" for claim in found)
    assert all(set(claim["sure_means"]) == {"read", "computed"} for claim in found)
    _, text, _ = run("claims", "--text", "synced")
    assert "H. Zhu, Synced" in text
    assert "computed: worked out here" in text


def test_what_needs_a_run_runs_on_request(as_json, monkeypatch):
    monkeypatch.setattr("memlab.claims.seconds_over", lambda *words, **more: 2.0)
    later = as_json("claims", "--text", "chinese")
    assert {claim["verdict"] for claim in later if claim["how"] == "run"} == {None}
    assert {claim["verdict"] for claim in as_json("claims", "A14")} == {"right"}


def test_bench_lists_its_benchmarks(run, as_json):
    assert as_json("bench") == ["accuracy", "machine"]
    assert [line.partition(":")[0] for line in run("bench")[1].splitlines()] == as_json("bench")


def test_lab_hands_its_arguments_on(run, monkeypatch):
    monkeypatch.setattr("memlab.cli.lessons.lab", lambda arguments: len(arguments))
    assert run("lab", "--no-browser", "--port=8890", "x") == (3, "", "")
    monkeypatch.setattr("memlab.cli.lessons.lab", lambda arguments: print(arguments))
    assert run("lab", "--no-browser", "--", "x")[1] == "['--no-browser', '--', 'x']\n"


def test_progress_shows_the_file_that_the_environment_names(run, as_json, progress_file):
    record.answered("02.output", "6.4 MB", True)
    code, text, err = run("progress")
    assert (code, err) == (0, "")
    assert str(progress_file) in text.splitlines()[0]
    assert "6.4 MB" in text
    assert as_json("progress") == json.loads(progress_file.read_text(encoding="utf-8"))


def test_progress_shows_no_deleted_card_as_open(run, progress_file):
    record.answered("02.once", "2", False)
    record.answered("02.halve", "2", False)
    _, text, _ = run("progress")
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith("  ")}
    assert "no longer asked" in lines["once"]
    assert "not yet" in lines["halve"]


def test_progress_shows_what_the_lab_keeps_where_nothing_is_named(run, progress_file, monkeypatch):
    record.answered("02.output", "6.4 MB", True)
    progress_file.parent.joinpath("my").mkdir()
    kept = progress_file.rename(progress_file.parent / "my" / "progress.json")
    monkeypatch.delenv("MEMLAB_PROGRESS")
    monkeypatch.setattr("memlab.cli.lessons.CHECKOUT", progress_file.parent)
    assert str(kept) in run("progress")[1]


def test_without_progress_one_sentence_says_how_it_is_made(run, as_json, progress_file):
    code, text, err = run("progress")
    assert (code, err, text.count("\n")) == (0, "", 1)
    assert str(progress_file) in text
    assert "make lab" in text
    assert as_json("progress") is None
    assert not progress_file.exists()


def test_where_no_progress_is_wanted_one_sentence_says_so(run, as_json, monkeypatch):
    monkeypatch.setenv("MEMLAB_PROGRESS", "")
    code, text, err = run("progress")
    assert (code, err, text.count("\n")) == (0, "", 1)
    assert "MEMLAB_PROGRESS is empty" in text
    assert as_json("progress") is None


def test_progress_shows_what_would_steer_a_terminal(run, progress_file):
    """Names, guesses and reasons of a file, which anybody may have written."""
    steering = "\x1b[31m\x1b]0;title\x07\ud800\n"
    turn = {"at": steering, "guess": steering, "right": True, "because": steering}
    cards = {f"{steering}.{steering}": [turn]}
    kept = {"schema": record.SCHEMA, "seed": 1, "cards": cards, "exercises": {}}
    progress_file.write_text(json.dumps(kept), encoding="utf-8")
    code, text, err = run("progress")
    assert (code, err) == (0, "")
    assert r"\x1b[31m\x1b]0;title\x07\ud800\n" in text
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[1, 2]", b'{"schema": "x/1"}'])
def test_progress_that_cannot_be_read_is_one_sentence(run, progress_file, content):
    progress_file.write_bytes(content)
    code, out, err = run("progress")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert str(progress_file) in err
    assert progress_file.read_bytes() == content


def test_without_a_command_there_is_help(run):
    code, text, err = run()
    assert (code, err) == (0, "")
    assert all(command.__name__ in text for command in cli.EXAMPLES)


@pytest.mark.table
@pytest.mark.parametrize("command", [command.__name__ for command in cli.EXAMPLES])
def test_every_command_has_help_with_an_example(run, command):
    code, text, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert f"try: memlab {command}" in text


def test_the_help_names_every_way(run):
    text = " ".join(run("plan", "--help")[1].split())
    for those in (methods.WAYS, HOWS):
        names = [f"'{name}'" if " " in name else name for name in those]
        assert f": {', '.join(names[:-1])} or {names[-1]}" in text


@pytest.mark.parametrize("command", ["plan", "fit", "claims"])
def test_the_examples_run(run, command):
    line = next(line for each, line in cli.EXAMPLES.items() if each.__name__ == command)
    assert run(*line.split())[0] == 0


@pytest.mark.measures
def test_a_run_prints_plan_and_measurement(run):
    code, out, err = run("run", "mnist_cnn", "--image", 8, "--batch", 3, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert facts["planned_peak_bytes"] == facts["measured_peak_bytes"] == facts["peak_bytes"]
    assert facts["residual_bytes"] == 0
    assert facts["seconds"] > 0
    code, out, _ = run("run", "linear1", "--inference", "--format", "fp64")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:6]] == [
        *("planned", "measured", "residual", "seconds", "outside")
    ]


def test_a_comparison_has_the_same_figures_as_text_and_json(run, as_json):
    facts = as_json("compare", "mnist_cnn", "--batch", 4)
    code, out, err = run("compare", "mnist_cnn", "--batch", 4)
    assert (code, err, facts["network"], facts["batch"]) == (0, "", "mnist_cnn", 4)
    step = memlab.training_step(memlab.zoo.build("mnist_cnn"))
    rows = {row["technique"]: row for row in facts["techniques"]}
    assert rows["plain"]["peak_bytes"] == memlab.plan(step).peak(4)
    assert rows["in_place"]["peak_bytes"] == memlab.plan(memlab.in_place(step)).peak(4)
    assert {row["peak_bytes"] for row in rows.values()} <= {*numbers(out)}
    assert all(row["call"] in out and row["measured"] is None for row in rows.values())


@pytest.mark.measures
def test_a_comparison_runs_every_technique(as_json):
    facts = as_json("compare", "mnist_cnn", "--image", 8, "--batch", 2, "--measure")
    for row in facts["techniques"]:
        seen = row["measured"]
        assert (seen["nbytes"], seen["residual"], seen["other"]) == (row["peak_bytes"], 0, [])


def test_a_run_on_a_device_says_which(run):
    code, out, err = run("run", "linear1", "--device", "cuda", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert facts["residual_bytes"] == 0
    assert facts["planned_peak_bytes"] == facts["measured_peak_bytes"]
    assert facts["device"] != "cpu"
    code, out, _ = run("run", "linear1", "--device", "cuda")
    assert code == 0
    lines = out.splitlines()
    assert facts["device"] in lines[0]
    assert lines[2].split()[0] == ("simulated" if facts["simulated"] else "measured")


@pytest.mark.parametrize(("policy", "more"), [
    ("dynamic", ("--in-place",)), ("best", ("--prefetch", "needed")),
])  # fmt: skip
def test_maps_that_fit_a_budget_are_searched_for(run, as_json, policy, more):
    words = ("plan", "vgg11", "--image", "32", "--batch", "4", "--offload", policy, *more)
    on = ("--device", "titan x", "--link", "12 GB/s")
    step = memlab.training_step(memlab.zoo.build("vgg11", image=32))
    given = dict[str, Any](batch=4, device="titan x", link="12 GB/s")
    given |= {"in_place": "--in-place" in more}
    given |= {"prefetch": "needed"} if "--prefetch" in more else {}
    with pytest.raises(memlab.InputError) as error:
        memlab.offload(step, policy, budget=1, **given)
    least = str(error.value).split(" is ")[1].split(" B")[0].replace(",", "")
    facts = as_json(*words, *on, "--budget", least)
    due = memlab.offload(step, policy, budget=int(least), **given)
    assert facts["host_maps"] == [op.reads["x"].name for op in due.ops if op.kind == "copy out"]
    asked = facts["techniques"]["offload"]
    assert facts["peak_bytes"] <= asked["budget"] == int(least)
    assert (asked["policy"], asked.get("prefetch")) == (policy, given.get("prefetch"))
    _, text, _ = run(*words, *on, "--budget", least)
    assert not facts["host_maps"] or f"wait on the host: {facts['host_maps'][0]}" in text


def test_seconds_are_planned_for_a_machine_and_a_link(run, as_json):
    asked = ("vgg11", "--image", 32, "--batch", 4, "--offload", "conv", "--optimizer", "sgd")
    words = ("plan", *asked, "--device", "titan x", "--link", "12 GB/s")
    facts = as_json(*words)
    step = memlab.offload(memlab.training_step(memlab.zoo.build("vgg11", image=32), "sgd"), "conv")
    due = memlab.clock(step, 4, "titan x", "12 GB/s")
    assert facts["planned_seconds"] == due.seconds
    assert facts["waiting_seconds"] == due.stalled()
    assert facts["link_bytes_per_second"] == 12 * 10**9
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert out.endswith(f"planned for {due.machine}\n{str(due).partition(chr(10))[2]}\n")
    assert "planned_seconds" not in as_json("plan", *asked)


def test_a_machine_that_was_not_measured_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMLAB_MACHINE", str(tmp_path / "machine.json"))
    code, out, err = run("plan", "mnist_cnn", "--device", "here")
    assert (code, out) == (2, "")
    assert err == "memlab: this machine was not measured; do it with `memlab bench machine`.\n"


def test_techniques_are_compared_on_a_machine(run, as_json):
    code, out, err = run("compare", "mnist_cnn", "--batch", 2, "--device", "titan x")
    assert (code, err) == (0, "")
    assert "Time is planned by the figures of GeForce GTX Titan X" in out
    seconds = [
        row["planned_seconds"]
        for device in ("titan x", "recorded")
        for row in as_json("compare", "mnist_cnn", "--batch", 2, "--device", device)["techniques"]
        if row["technique"] == "plain"
    ]
    assert seconds[0] < seconds[1] / 10
