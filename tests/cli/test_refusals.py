"""What the command line refuses: one sentence and exit code 2."""

import json
import os

import pytest

from memlab import cli
from tests.cli.parsers import parsers

SMALL = ["plan", "mnist_cnn", "--batch", "4"]

BAD = {
    "plann": "did you mean 'plan'",
    "--bach 3": "'--bach'",
    "plan": "NETWORK",
    "plan resnet5": "did you mean 'resnet50'",
    "plan resnet50 vgg16": "'vgg16'",
    "plan resnet50 --batch": "--batch",
    "plan resnet50 --batch 0": "at least 1, got 0",
    "plan resnet50 --batch -3": "at least 1, got -3",
    "plan resnet50 --batch 1.5": "whole number, got '1.5'",
    "plan resnet50 --batch abc": "whole number, got 'abc'",
    "plan resnet50 --batch nan": "whole number, got 'nan'",
    "plan resnet50 --batch inf": "at most 10^40, got more than 10^40",
    "plan resnet50 --batch 1e99999": "at most 10^40, got more than 10^40",
    "plan resnet50 --batch=-1e99999": "at least 1, got below -10^40",
    "plan resnet50 --batch 1.00000000000000000000000000001": "whole number",
    "plan resnet50 --batch=": "whole number, got ''",
    "plan alexnet --image 20": "try a larger image",
    "plan mnist_cnn --image 1": "try",
    "plan resnet50 --image 0": "at least 1, got 0",
    "plan resnet50 --classes -1": "at least 1, got -1",
    "plan resnet50 --image 2e2.5": "whole number, got '2e2.5'",
    "plan resnet50 --groups 3": "'--groups'",
    "plan resnet50 --bat 3": "'--bat'",
    "plan resnet50 --=": "unknown argument '--='",
    "plan resnet50 --variant v2": "'v2'",
    "plan vgg16 --variant v1": "vgg16 has no variants",
    "plan vgg16 --freeze fc9": "no layer with parameters of 'vgg16' has the name 'fc9'",
    "plan vgg16 --freeze *": "every layer of 'vgg16' is frozen",
    "plan gpt2 --lora 0": "rank must be at least 1, got 0",
    "plan vgg16 --lora 8": "no linear layer of 'vgg16' has the name '*.q'",
    "plan gpt2 --lora 8 --freeze norm": "--lora freezes all layers",
    "plan linear1 --image 3": "linear1 has no image",
    "plan resnet50 --format fp12": "'fp12'",
    "plan resnet50 --format int8": "int8",
    "plan resnet50 --precision fp32": "unknown mode 'fp32'",
    "plan resnet50 --precision=": "unknown mode ''",
    "run mnist_cnn --precision bf16 --format fp64": "starts from a step in fp32, got fp64",
    "plan resnet50 --recompute chian": "did you mean 'chain'",
    "plan resnet50 --recompute=": "unknown way to recompute ''",
    "plan resnet50 --recompute slots": "--recompute slots needs --recompute-k",
    "plan resnet50 --recompute drop": "--recompute drop needs --recompute-layers",
    "plan resnet50 --recompute drop --recompute-layers nothing": "unknown operation",
    "plan resnet50 --recompute every --recompute-k 0": "at least 1, got 0",
    "plan resnet50 --recompute every --recompute-k two": "whole number, got 'two'",
    "plan resnet50 --recompute every --recompute-k 1000": "k must be at most",
    "plan resnet50 --recompute every --budget 2GB": "--recompute every takes no --budget",
    "run resnet50 --recompute chain --budget 2apples": "'2apples'",
    "run resnet50 --recompute chain --budget 1kB": "the least that one takes is",
    "plan resnet50 --recompute exact": "an exact order is found for 1 to",
    "plan resnet50 --recompute-k 2": "--recompute-k is of --recompute",
    "plan resnet50 --budget 2GB": "--budget is of --recompute",
    "plan resnet50 --offload best": "--offload best needs --budget, such as --budget '12 GB'",
    "plan resnet50 --offload best --budget 1GB": "no source gives the link of",
    "run resnet50 --offload dynamic --budget 1kB --link 1GB/s": "the least that this policy takes",
    "plan resnet50 --offload bset --budget 1GB": "did you mean 'best'",
    "plan resnet50 --offload conv --prefetch budget": "unknown prefetch 'budget'",
    "plan resnet50 --offload conv --prefetch late": "unknown prefetch 'late'",
    "plan resnet50 --prefetch needed": "--prefetch is of --offload",
    "run resnet50 --link 1GB/s": "--link is of --offload dynamic or best; add that",
    "plan resnet50 --lowering gemm": "unknown algorithm 'gemm'",
    "plan resnet50 --eight-bit-states-block 64": "is of --eight-bit-states; add that",
    "plan resnet50 --eight-bit-states --optimizer sgd": "has no state in fp32",
    "plan linear1 --relu-masks": "no ReLU of this step is kept",
    "fit resnet50 --budget 1GB --memory 1GB": "'--budget'",
    "fit resnet50 --offload best --memory 1GB": "--offload best decides for one batch",
    "plan resnet50 --inference --recompute every": "leave out --recompute or --inference",
    "fit resnet50 --memory 12GB --recompute chain": "decides for one batch",
    "fit resnet50 --memory 12GB --place best": "'--place'",
    "plan resnet50 --place bst": "did you mean 'best'",
    "run mnist_cnn --place=": "unknown way to place ''",
    "plan resnet50 --place exact": "at most 40 blocks",
    "compare resnet50 --in-place": "'--in-place'",
    "plan resnet50 --optimizer=": "unknown optimizer ''",
    "plan resnet50 --inference --optimizer=": "inference has no optimizer",
    "plan resnet50 --optimizer adm": "did you mean 'adam'",
    "plan resnet50 --inference --optimizer sgd": "inference has no optimizer",
    "plan resnet50 --convention everythin": "did you mean 'everything'",
    "plan resnet50 --save .": "'.'",
    "plan resnet50 --trace no/such/folder/x": "no/such/folder",
    "plan resnet50 --picture x.jpg": "ends in .svg, .png, .pdf or .html, got 'x.jpg'; try out.svg",
    "plan resnet50 --picture svg": "got 'svg'",
    "plan resnet50 --picture no/such/folder/x.svg": "no/such/folder",
    "plan linear1 --batch 1e9 --picture x.svg": "batch must be at most 1,000,000",
    "fit resnet50": "--memory",
    "fit resnet50 --memory 12apples": "'12apples'",
    "fit resnet50 --memory 12": "12 has no unit, which amounts below 1 MB need; try 12 GB, or 12 B",
    "fit resnet50 --memory 8192": "try 8192 MB, or 8192 B",
    "explain train:model --memory 12": "12 has no unit",
    "run resnet50 --recompute chain --budget 2": "2 has no unit",
    "compare linear1 --budget 2.5": "try 2.5 GB.",
    "plan resnet50 --device recorded --link 12": "try '12 GB/s', or '12 B/s'",
    "run resnet50 --offload best --budget 1GB --link 12": "a link of 12 has no unit",
    "fit resnet50 --memory -12GB": "--memory",
    "fit resnet50 --memory=-12GB": "'-12GB'",
    "fit resnet50 --memory 12GB --batch 3": "'--batch'",
    "compare resnet5": "did you mean 'resnet50'",
    "compare linear1 --budget 2apples": "'2apples'",
    "compare linear1 --budget 10B": "the least that",
    "compare linear1 --batch 1e30": "try a smaller batch",
    "plan mnist_cnn --batch 1e20 --recompute chain": "try a smaller batch",
    "compare linear1 --memory 2GB": "'--memory'",
    "diff one.json": "AFTER",
    "diff no-such.json no-such.json": "no-such.json",
    "claims Z9": "'Z9'",
    "claims --text hanlom": "did you mean 'hanlon'",
    "claims --verdict wrong": "Known: right",
    "claims --own --verdict right": "have no verdict",
    "claims B5 --text answer": "leave one of them out",
    "bench machin": "did you mean 'machine'",
    "fit resnet50 --memory 25Mb": "Mb are bits, 8 to a byte; for bytes write MB",
    "lecture -- k2 --no-run": "--no-run stands after --, where nothing is an option",
    "lecture -- k2 -o": "-o stands after --",
    "plan -- resnet50 --batch=3": "--batch=3 stands after --",
    "doctor --fast": "'--fast'",
    "progress 02": "'02'",
    "guesses ~nobody": "'~nobody' is no folder; give one that holds the progress.json",
}


@pytest.mark.table
@pytest.mark.parametrize(("line", "says"), BAD.items(), ids=BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(run, line, says):
    code, out, err = run(*line.split())
    assert (code, out) == (2, "")
    assert err.startswith("memlab: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert says in err


def test_an_amount_with_a_space_is_refused_too(run):
    code, _, err = run("fit", "resnet50", "--memory", "12 apples")
    assert (code, err.count("\n")) == (2, 1)
    assert "'12 apples'" in err


def options(takes_value):
    """Every option with a value, or without one, as (command, option); lab hands all words on."""
    return [
        (command, word)
        for command, parser in parsers().items()
        for action in parser._actions
        for word in action.option_strings
        if word.startswith("--") and (action.nargs is None) == takes_value and command != "lab"
    ]


CHEAP = {
    "plan": "linear1 --recompute every", "run": "linear1 --batch 1", "compare": "linear1",
    "fit": "linear1 --memory 1MB", "diff": "a.json b.json", "bench": "machine",
    "lecture": "k2 --no-run", "claims": "A4", "path": "mnist_cnn", "explain": "math:sqrt",
    "slides": "leak", "guesses": ".", "release": "00", "grade": "no-such --csv m.csv",
}  # fmt: skip


@pytest.mark.parametrize(("command", "option"), options(takes_value=True))
@pytest.mark.parametrize("value", ["", "--"])
def test_a_value_of_nothing_is_refused(run, tmp_path, monkeypatch, command, option, value):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(command, *CHEAP[command].split(), f"{option}={value}")
    if value and option in ("--save", "--trace", "--output"):  # "--" is the name of a file
        assert (code, err, os.listdir()) == (0, "", ["--"])
    else:
        assert (code, out, err.count("\n"), os.listdir()) == (2, "", 1, [])


@pytest.mark.table
@pytest.mark.parametrize(("command", "option"), options(takes_value=False))
@pytest.mark.parametrize("value", ["", "--", "1"])
def test_a_value_of_what_takes_none_is_refused(run, command, option, value):
    code, out, err = run(command, *CHEAP.get(command, "").split(), f"{option}={value}")
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    "words",
    [
        "plan",
        "run",
        "fit --memory 1MB",
        "compare",
        "diff x",
        "claims",
        "bench",
        "lecture",
        "guesses",
    ],
)
def test_an_argument_of_nothing_is_refused(run, words):
    code, out, err = run(*words.split(), "")
    assert (code, out, err.count("\n")) == (2, "", 1)


LONG = ["X", "plan X", "plan linear1 --X", "plan linear1 --in-place=X", "plan linear1 --batch=X",
        "plan -- linear1 --batch=X", "claims X", "bench X", "lecture X", "lecture k2 -o X",
        "plan linear1 --save X", "plan linear1 --variant X", "run linear1 --device X",
        "plan linear1 --recompute X", "plan linear1 --place=X", "compare linear1 --optimizer X",
        "plan linear1 --recompute drop --recompute-layers X"]  # fmt: skip


@pytest.mark.table
@pytest.mark.parametrize("line", LONG)
@pytest.mark.parametrize("letter", ["9", "x", "é"])
def test_what_is_long_is_not_shown_whole(run, line, letter):
    code, out, err = run(*(word.replace("X", letter * 5000) for word in line.split()))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert len(err) < 600


@pytest.mark.parametrize(
    ("given", "batch"), [("1e30", 10**30), ("1_000", 1000), ("3.0", 3), ("1.5e1", 15)]
)
def test_a_number_keeps_its_digits(as_json, given, batch):
    assert as_json("plan", "linear1", "--batch", given)["batch"] == batch


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[1, 2]", b'{"schema": "x/1"}'])
def test_a_file_that_is_no_ledger_is_one_sentence(run, tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    code, out, err = run("diff", path, path)
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("power", [15, 18, 30])
def test_sizes_beyond_64_bits_stay_exact(run, power):
    code, out, err = run("plan", "resnet50", "--batch", 10**power, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert sum(facts["roles"].values()) == facts["peak_bytes"] > 2**63


def test_a_fault_of_our_own_is_not_dressed_as_a_users_mistake(monkeypatch):
    monkeypatch.setattr("memlab.networks.zoo.build", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(SMALL)


def test_ctrl_c_is_silent(run, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("memlab.networks.zoo.build", stop)
    assert run(*SMALL) == (130, "", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "mnist_cnn", "--convention", "vdnn"], "--convention"),
        (["run", "mnist_cnn", "--device", "gpu"], "unknown device 'gpu'"),
        (["run", "mnist_cnn", "--device"], "--device"),
        (["run", "resnet50", "--device", "cuda", "--batch", 10**6], "refused"),
        pytest.param(
            ["run", "mnist_cnn", "--format", "bf16"],
            "no kernel computes",
            marks=pytest.mark.measures,
        ),
        (["run", "resnet50", "--batch", 10**6], "refused before anything was allocated"),
        (["run", "mnist_cnn", "--batch", 0], "batch must be at least 1"),
    ],
)
def test_a_run_that_cannot_be_is_one_sentence(run, words, sentence):
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert sentence in err
