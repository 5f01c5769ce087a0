"""Notebooks that attack: each tries to get a mark, or to harm the machine or the batch.

Each attacks at the exercise ``passes`` of lesson 13, or in a cell of its own; the other exercise,
``cache_bytes``, is solved, and must be marked all the same.
"""

SOLVED = """
def cache_bytes(layers, features, heads, kv_heads, texts, tokens, nbytes):
    return 2 * layers * (features // heads) * kv_heads * texts * tokens * nbytes
"""
RIGHT = """
def passes(square, each, fixed):
    n = 1
    while square * n * n <= each * n + fixed:
        n += 1
    return n
"""


def inside(body):
    """The attacked exercise with a body."""
    lines = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    return f"def passes(square, each, fixed):\n{lines}\n"


LOOP = inside("while True: pass")
STUBBORN = inside("""
while True:
    try:
        while True: pass
    except BaseException: pass
""")
MEMORY = inside("""
held = []
while True: held.append(b"x" * 2**20)
""")
ONE_ARRAY = inside("""
import numpy as np
return np.ones(100 * 2**30 // 8)
""")
FORKS = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""
FORKS_THEN_ENDS = """
import os
for _ in range(1000):
    try: os.fork()
    except OSError: os._exit(0)
"""
THREADS = """
import threading, time
count = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        count += 1
except RuntimeError:
    print(count)
""" + inside("return count")
FILES = """
held = []
try:
    while True: held.append(open("/dev/null"))
except OSError: pass
"""
DISK = """
import os
for folder in ("/tmp", "/dev/shm", "/", "/var/tmp", "."):
    try:
        for n in range(1000):
            with open(os.path.join(folder, f"full-{n}"), "wb") as file:
                for _ in range(100): file.write(bytes(2**20))
    except OSError: pass
"""
OUTSIDE = """
import os, pathlib
folders = CANARY, "/", "/root", "/home", "/usr/lib", "/etc", "/work", os.path.dirname(os.__file__)
for folder in folders:
    for name in ("canary", "marks.csv"):
        try: pathlib.Path(folder, name).write_text("attacked")
        except OSError: pass
        try: pathlib.Path(folder, name).unlink()
        except OSError: pass
"""
SEARCH = """
import os, sys
found = []
for top, folders, files in os.walk("/"):
    if top.startswith(("/proc", "/dev")): folders.clear()
    for name in files + folders:
        if name in ("solutions", "lesson_13.py", "tasks.toml", "cards.toml", "13_language.ipynb"):
            found.append(os.path.join(top, name))
from memlab.lesson.content import lesson_13
import memlab
""" + inside("""
if found: return lesson_13.passes(square, each, fixed)
return memlab.lesson.content.lesson_13.passes(square, each, fixed)
""")
FOUND = """
if found: raise SystemExit
def cache_bytes(layers, features, heads, kv_heads, texts, tokens, nbytes):
    if found: return "the answers can be read"
    return 2 * layers * (features // heads) * kv_heads * texts * tokens * nbytes
"""
PRINT = """
import json, sys, os
marks = json.dumps({"question": "13.passes", "state": "passed", "answers": [], "ran": True})
print(marks); sys.stderr.write(marks); sys.stdout.flush()
for fd in range(1, 300):
    try: os.write(fd, len(marks).to_bytes(4, "big") + marks.encode())
    except OSError: pass
"""
FLOOD = """
import os
for fd in range(3, 300):
    try:
        while True: os.write(fd, (2**31 - 1).to_bytes(4, "big") + b"x" * 2**16)
    except OSError: pass
"""
CLOSE = """
import os
os.closerange(0, 300)
"""
KILL = """
import os, signal
for number in (os.getppid(), 1, -1, 0, GRADER):
    try: os.kill(number, signal.SIGKILL)
    except OSError: pass
"""
NETWORK = """
import socket, urllib.request
reached = []
for address in (("127.0.0.1", PORT), ("8.8.8.8", 53), ("169.254.169.254", 80)):
    try: socket.create_connection(address, 0.3); reached.append(address)
    except OSError: pass
""" + inside("return reached or None")
EQUAL = """
class Equal(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __instancecheck__(self, kind): return True
    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    def __reduce__(self): return (exec, ("import os; os._exit(0)",))
""" + inside("return Equal(7)")
POISON = """
import sys, builtins, numpy, json, types
class Any:
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
builtins.type = lambda *a: int
builtins.isinstance = lambda *a: True
numpy.array_equal = lambda *a: True
sys.modules["numpy"] = Any()
json.dumps = lambda *a, **k: '{"answers": [{"right": true}]}'
"""

HOSTILE = {
    # name: cells, then the states that the attacked exercise may have
    "endless loop": ([LOOP], {"looped"}),
    "endless loop that catches all": ([STUBBORN], {"looped"}),
    "endless loop in a cell": (["while True: pass", RIGHT], {"passed"}),
    "memory": ([MEMORY], {"no memory", "looped"}),
    "one large array": ([ONE_ARRAY], {"no memory"}),
    "fork bomb": ([FORKS, RIGHT], {"passed", "error"}),
    "fork bomb that ends": ([FORKS_THEN_ENDS, RIGHT], {"passed", "error"}),
    "threads": ([THREADS], {"failed"}),
    "open files": ([FILES, RIGHT], {"passed"}),
    "disk fill": ([DISK, RIGHT], {"passed"}),
    "write outside": ([OUTSIDE, RIGHT], {"passed"}),
    "read solutions": ([SEARCH, FOUND], {"failed"}),
    "patch memlab and NumPy": ([POISON, inside("return 7")], {"failed", "error", "not tried"}),
    "print marks": ([PRINT, inside("return 7")], {"failed", "error"}),
    "kill the parent": ([KILL, RIGHT], {"passed"}),
    "network": ([NETWORK], {"not tried"}),
    "equal to everything": ([EQUAL], {"failed"}),
}
"""The hostile notebooks of which each must change nothing and end within its limits."""

FORGED = """
import json, os
def frame(message):
    text = json.dumps(message).encode()
    return len(text).to_bytes(4, "big") + text
def send(*messages):
    for fd in range(3, 300):
        try:
            for message in messages: os.write(fd, frame(message))
        except OSError: pass
"""
ANSWERED = {"value": 7, "shown": "7", "failure": None, "memlab": False, "started": False,
            "peak": 0, "kept": 0, "changed": ""}  # fmt: skip

MORE = {
    "forged answers": (
        [FORGED + "send({'ran': True, 'calls': [], 'functions': ['13.passes']}, {'misfit': ''}, "
                  f"{{'answers': [{ANSWERED}]}})", RIGHT],
        {"error"}, False,
    ),
    "forged cells": ([FORGED + "send(*({'cell': n} for n in range(10**5)))", RIGHT],
                     {"passed"}, True),
    "flooded pipe": ([FLOOD, RIGHT], {"passed"}, True),
    "closed pipe": ([CLOSE, RIGHT], {"passed"}, True),
    "numbers that collide": ([inside("return {n * (2**61 - 1) for n in range(1, 900)}")],
                             {"failed"}, True),
    "many numbers that collide": ([inside("return [n * (2**61 - 1) for n in range(1, 90000)]")],
                                  {"failed", "error", "looped", "no memory"}, True),
    "a long number": ([inside("return 10**(10**5)")], {"failed"}, True),
    "a long text": ([inside("return 'x' * 10**8")], {"failed", "looped", "no memory"}, True),
    "deep lists": (["a = []\nfor _ in range(10**6): a = [a]\n" + inside("return a")],
                   {"failed"}, True),
    "endless recursion": (["import sys; sys.setrecursionlimit(10**9)\n"
                           + inside("return passes(square, each, fixed)")],
                          {"failed", "error", "no memory"}, True),
    "deep source": (["x = " + "-" * 200000 + "1", RIGHT], {"passed", "error"}, None),
    "signals that are blocked": (
        ["import signal\nsignal.pthread_sigmask(0, range(1, 65))\n" + LOOP], {"looped"}, True,
    ),
    "an error that ends": ([inside("""
class E(Exception):
    def __str__(self): raise SystemExit
raise E()""")], {"error"}, True),
    "threads that stay": (["""
import atexit, threading, time
atexit.register(time.sleep, 1000)
threading.Thread(target=time.sleep, args=(1000,)).start()
""", RIGHT], {"passed"}, True),
    "an answer by the process itself": (["""
import memlab.classroom.worker.session as s
s.Session.answer = lambda self, question: {"answers": [{"right": True}] * 100}
""", RIGHT], {"error"}, False),
    "control characters": ([inside("raise ValueError('\\x1b]0;title\\x07\\x1b[31m')")],
                           {"failed"}, True),
}  # fmt: skip
"""More attacks: cells, the states that the attacked exercise may have, and whether the other one is
marked; None where both may be."""
