"""A training script is watched in a process of its own: its file and its folder stay as they are,
no process is left, and an end that brings no answer is one sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

import memlab
from memlab import InputError, cli
from memlab.frontends.torch.script.watched_script import (
    ScriptRequest,
    watched_script,
)
from memlab.placement import cuda_cards
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from memlab.frontends.torch.any_step import StepRequest, watched
from memlab.frontends.torch.script import refused_calls
from memlab.pictures.explain.report import told_of
from memlab.pictures.explain.script_model import ScriptModel

pytestmark = pytest.mark.measures  # each script is a process that loads PyTorch

TRAIN = """
import io, os, sys
import torch
import torch.distributed.checkpoint
from torch import nn
from safetensors.torch import save_file
from library import Tokenizer

assert __name__ == "__main__" and sys.argv == ["train.py", "--epochs", "9"]
assert sys.path[0] == os.getcwd()
assert torch.cuda.is_available() and torch.cuda.get_device_name() == "T4"
total = torch.cuda.get_device_properties(0).total_memory
assert total == torch.cuda.mem_get_info()[1] == 16 * 10**9
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
with torch.cuda.stream(torch.cuda.Stream()):
    torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
    start.record()
    end.record()
assert start.elapsed_time(end) > 0
assert torch.cuda.memory_summary() == "" and torch.cuda.memory_stats() == {}
assert os.environ["WANDB_MODE"] == "offline"
assert os.path.dirname(os.environ["WANDB_DIR"]) != os.getcwd()


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 14

    def __getitem__(self, index):
        print("process", os.getpid())
        return torch.randn(16), index % 4


if __name__ == "__main__":
    print("process", os.getpid())
    loader = torch.utils.data.DataLoader(Data(), 7, shuffle=True, num_workers=2, pin_memory=True)
    model = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 4)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    total = 0.0
    try:
        for epoch in range(9):
            for x, y in loader:
                loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
                torch.save(model.state_dict(), "model.pt")
                save_file(model.state_dict(), "model.safetensors")
                Tokenizer().save_pretrained("tokenizer")
                torch.distributed.checkpoint.save(model.state_dict(), checkpoint_id="folder")
                in_memory = io.BytesIO()
                torch.save(list(model.parameters()), in_memory)
                assert len(in_memory.getvalue()) > 4 * 16 * 256
    except:
        print("swallowed")
    finally:
        torch.save(model, "last.pt")
        open("finally", "w")
"""
LIBRARY = """
class Tokenizer:
    def save_pretrained(self, save_directory):
        open("written", "w")
"""
SAFETENSORS = """
def save_file(tensors, filename, metadata=None):
    open(filename, "w")
"""
STEPS = """
import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step():
    optimizer.zero_grad()
    model(torch.randn(8, 4)).sum().backward()
    optimizer.step()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("WORLD_SIZE", "WANDB_MODE", "WANDB_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def request(text: str, card: Any = cuda_cards.USUAL, **options: Any) -> ScriptRequest:
    Path("train.py").write_text(text)
    return ScriptRequest("train.py", card=card, **options)


def files() -> dict[str, str]:
    """All files of the folder, with their contents."""
    return {str(path): path.read_text() for path in Path().rglob("*") if path.is_file()}


def runs(process: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def assert_no_process_is_left(printed: str, least: int = 1) -> None:
    """The processes that a script named have ended, at the latest a moment after it."""
    named = {int(line.split()[1]) for line in printed.splitlines() if line[:8] == "process "}
    assert len(named) >= least
    end = time.monotonic() + 20
    while any(map(runs, named)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(map(runs, named))


def by_hand() -> int:
    """Peak of the loop of ``TRAIN``, recorded from a function."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 4))
    optimizer = torch.optim.Adam(model.parameters())

    def step(batch: Any) -> None:
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    data = torch.randn(7, 16), torch.arange(7) % 4
    recording = watched(StepRequest(step, data, card=cuda_cards.find("T4"))).recording
    from memlab.frontends.torch.recording_to_step import step_of

    return memlab.plan(step_of(recording)).peak(7)


def test_the_third_step_ends_a_script_and_all_that_it_started(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "library.py").write_text(LIBRARY)
    (folder / "safetensors").mkdir()
    (folder / "safetensors" / "__init__.py").write_text("")
    (folder / "safetensors" / "torch.py").write_text(SAFETENSORS)

    Path("train.py").write_text(TRAIN)
    before = files()
    card = ["--card", "T4"]
    assert cli.main(["explain", "train.py", *card, "--json", "--", "--epochs", "9"]) == 0
    printed = capfd.readouterr()
    facts = json.loads(printed.out)
    assert files() == before
    assert_no_process_is_left(printed.err, least=3)
    assert "swallowed" not in printed.err
    assert facts["batch"] == 7
    assert facts["peak"]["bytes"] == by_hand()
    script = facts["script"]
    assert (script["arguments"], script["tensors"]) == (["--epochs", "9"], "fake")
    assert script["would_write"] == [
        {"function": "torch.save", "path": "model.pt", "times": 2},
        {"function": "safetensors.torch.save_file", "path": "model.safetensors", "times": 2},
        {"function": "save_pretrained", "path": "tokenizer", "times": 2},
        {"function": "torch.distributed.checkpoint.save", "path": "folder", "times": 2},
    ]


GROWS = """
valid = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(9)]).eval()
history, total = [], 0
for _ in range(9):
    optimizer.zero_grad()
    output = model(torch.randn(8, 4))
    output.sum().backward()
    optimizer.step()
    history.append(output)
    total = total + model(output).square().mean()
    score = valid(torch.randn(20_000, 512))
"""


def test_growth_and_evaluation_are_named_and_a_change_is_one_that_the_script_ran_with() -> None:
    said: list[str] = []
    script = ScriptModel(request(STEPS + GROWS, say=said.append))
    assert script.watched.growth >= 8 * 4 * 4
    assert script.watched.holders == {"history": True, "total": True}
    assert script.watched.untrained == ("valid",)
    explained, text = told_of(script, script.samples, 900_000_000)
    assert "history holds the graph of every step" in text
    assert script.text == (
        "train.py was watched from one optimizer step to the next, on fake tensors, and was ended "
        "then. The answer is for its batch of 8 alone.\n"
        "In evaluation mode with gradients enabled: valid. Use torch.no_grad() there."
    )
    maps = 10 * 20_000 * 512 * 4
    assert explained.peak.nbytes > maps
    assert explained.best is not None
    assert explained.best.key == "no_grad"
    assert explained.best.peak(8) < maps / 2
    assert said == ["train.py does not fit and runs again with each change that may help."]


VALUES = """
for number in range(9):
    try:
        optimizer.zero_grad()
        output = model(torch.randn(8, 4))
        output[output > -9].sum().backward()
        optimizer.step()
        torch.save(model, "model.pt")
    except:
        print("swallowed")
"""


def test_where_values_are_needed_it_is_said_before_real_tensors_run(
    capfd: pytest.CaptureFixture[str],
) -> None:
    said: list[str] = []
    script = watched_script(request(STEPS + VALUES, say=said.append))
    assert script.real
    assert script.batch == 8
    assert script.saves == (("torch.save", "model.pt"),) * 2
    assert capfd.readouterr().err == ""
    assert said == [
        "train.py runs again, now on real tensors, because fake ones do not suffice "
        "(DynamicOutputShapeException: aten.nonzero.default); on this processor its steps take "
        "160 B of memory beside feature maps (80 B of parameters, 80 B of gradients, 0 B of "
        "states), and at most 300 seconds."
    ]
    assert files() == {"train.py": STEPS + VALUES}


def test_two_steps_are_enough_at_the_end_of_a_script() -> None:
    script = watched_script(request(STEPS + "step()\nstep()\nprint(model.weight.data.numpy())"))
    assert not script.real
    assert script.batch == 8


DOWNLOADS = """
import atexit
from urllib.request import urlretrieve
atexit.register(print, "atexit")
step()
try:
    {}["key"]
except KeyError:
    urlretrieve("http://127.0.0.1:9/data.zip", "data.zip")
"""
ENDS = {
    STEPS + DOWNLOADS: (1, "ended with an error of its own (URLError), which is shown above"),
    STEPS + "import sys\nstep()\nsys.exit(3)": (3, "ended after one training step"),
    "": (2, "ended without a training step"),
}


@pytest.mark.parametrize("text", ENDS, ids=["download", "one step", "nothing"])
def test_an_early_end_is_one_sentence_and_the_exit_code_of_the_script(
    text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, sentence = ENDS[text]
    Path("train.py").write_text(text)
    assert cli.main(["explain", "train.py", "--device", "cpu"]) == code
    out, err = capfd.readouterr()
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith(f"memlab: train.py {sentence}")
    assert files() == {"train.py": text}
    if code == 1:
        assert "KeyError: 'key'" in err
        assert "URLError: <urlopen error" in err
        assert os.path.dirname(memlab.__file__) not in err
        assert "\natexit\n" in err


SPAWNS = """
import torch


def rank(number, count):
    open("rank", "w")


if __name__ == "__main__":
    try:
        torch.multiprocessing.spawn(rank, (2,), nprocs=2)
    except:
        pass
"""


def test_spawned_ranks_are_refused_before_one_runs() -> None:
    with pytest.raises(InputError, match=r"cannot be watched: it trains in 2 processes"):
        watched_script(request(SPAWNS, card=None))
    assert files() == {"train.py": SPAWNS}


WAITS = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                         start_new_session=True)
print("process", os.getpid())
print("process", child.pid)
print("ready", flush=True)
while True:
    try:
        time.sleep(600)
    except:
        open("caught", "w")
    finally:
        open("finally", "w")
"""


def test_ctrl_c_ends_everything() -> None:
    Path("train.py").write_text(WAITS)
    command = [sys.executable, "-m", "memlab", "explain", "train.py"]
    root = str(Path(memlab.__file__).parents[1])
    memlab_here = os.environ | {"PYTHONPATH": root}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=memlab_here) as parent:
        assert parent.stderr is not None
        printed = ""
        while not printed.endswith("ready\n"):
            line = parent.stderr.readline()
            assert line, printed
            printed += line
        parent.send_signal(signal.SIGINT)
        assert parent.wait(60) == 130
    assert_no_process_is_left(printed, least=2)
    assert files() == {"train.py": WAITS}


def test_a_script_has_a_limit() -> None:
    with pytest.raises(InputError, match=r"took no second training step within 0\.5 seconds"):
        watched_script(request(WAITS, limit=0.5))
    assert files().keys() <= {"train.py"}


# -- without a process ---------------------------------------------------------------------------


def test_one_of_several_ranks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(InputError, match=r"WORLD_SIZE is '4'.*run it without torchrun"):
        watched_script(request(STEPS))


REFUSED = {
    "explain nope.py": "there is no file 'nope.py'",
    "explain train.py --batch 8": "a script decides about its batch itself",
    "explain train.py --optimizer adam": "a script decides about its optimizer itself",
    "explain train.py --limit 0": "limit must be at least 1",
    "explain train:model --limit 3": "--limit is of a script",
    "explain train:model --picture out.py -- --epochs 3": "unknown argument '--epochs'",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_does_not_fit_a_script_is_refused(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("train.py").write_text("")
    assert cli.main(words.split()) == 2
    assert capsys.readouterr().err.startswith(f"memlab: {REFUSED[words]}")


class RefusedError(Exception):
    """Error for a call that is refused."""


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Reasons of what was refused, by functions that are put back after the test."""
    spawn: Any = sys.modules["torch.multiprocessing.spawn"]
    distributed: Any = torch.distributed.distributed_c10d
    extension: Any = pytest.importorskip("torch.utils.cpp_extension")
    for owner, name in (
        (spawn, "start_processes"), (torch.multiprocessing, "start_processes"),
        (distributed, "init_process_group"), (torch.distributed, "init_process_group"),
        (extension, "load"), (extension, "load_inline"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, getattr(owner, name))
    reasons: list[str] = []

    def refuse(reason: str) -> None:
        reasons.append(reason)
        raise RefusedError

    change = refused_calls.refused_calls(refuse, "train")
    for module in (spawn, distributed, extension):
        change(module)
    return reasons


def test_ranks_and_kernels_are_refused_where_they_begin(
    refusals: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch.utils import cpp_extension

    with pytest.raises(RefusedError):
        torch.distributed.init_process_group("gloo", rank=0, world_size=2)
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(RefusedError):
        torch.distributed.init_process_group("gloo")
    with pytest.raises(RefusedError):
        cpp_extension.load("kernel", ["kernel.cpp", "kernel.cu"])
    with pytest.raises(RefusedError):
        cpp_extension.load_inline("kernel", "", cuda_sources="__global__ void f() {}")
    ranks, more, kernel, inline = refusals
    assert ranks.startswith("it trains in 2 processes")
    assert more.startswith("it trains in 3 processes")
    assert kernel == inline
    assert kernel.startswith("it has kernels for CUDA of its own (kernel)")
    rows: list[int] = []
    torch.multiprocessing.spawn(rows.append, nprocs=1)
    assert rows == [0]


def test_an_error_of_triton_is_one_of_kernels() -> None:
    missing = ModuleNotFoundError("No module named 'triton'", name="triton.language")
    assert "(Triton)" in refused_calls.kernel_error(missing, "train")
    assert refused_calls.kernel_error(ModuleNotFoundError(name="tritonish"), "train") == ""
    assert refused_calls.kernel_error(ValueError("triton"), "train") == ""
