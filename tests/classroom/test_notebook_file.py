"""A notebook that was handed in is read as data: whatever it is, a sentence or cells come."""

import json
import os

import pytest

from memlab.classroom import notebook_file
from memlab.classroom.notebook_file import code_cells
from memlab.errors import InputError
from tests.classroom.confined_here import posix, write

pytestmark = posix


def test_the_cells_are_in_order_and_texts_are_left_out(tmp_path):
    path = tmp_path / "a.ipynb"
    cells = [
        {"cell_type": "markdown", "source": "# a"},
        {"cell_type": "code", "source": ["a = 1\n", "b = 2"]},
        {"cell_type": "code", "source": "\ud800"},
        "no cell",
    ]
    path.write_text(json.dumps({"cells": cells}))
    assert code_cells(path) == ["a = 1\nb = 2", "?"]


BROKEN = {
    "no JSON": "a",
    "empty": "",
    "a list": "[]",
    "no cells": "{}",
    "cells of another type": '{"cells": {}}',
    "a source of another type": '{"cells": [{"cell_type": "code", "source": [1]}]}',
    "a key twice": '{"cells": [], "cells": []}',
    "not a number": '{"cells": [], "a": NaN}',
    "a long number": '{"cells": [], "a": 1' + "0" * 5000 + "}",
    "deep": "[" * 10**6,
    "too many cells": json.dumps({"cells": [{}] * 1001}),
    "too long": json.dumps({"cells": [{"cell_type": "code", "source": "a" * (10**6 + 1)}]}),
    "control characters": '{"\x1b[31m": 1}',
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_notebook_is_one_sentence(tmp_path, content):
    path = tmp_path / "a.ipynb"
    path.write_text(content)
    with pytest.raises(InputError, match=r"a\.ipynb is not graded") as error:
        code_cells(path)
    assert str(error.value).isprintable()


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="no notebook"):
        code_cells(path)


def test_only_a_regular_file_of_a_fair_size_is_read(tmp_path, monkeypatch):
    there = write(tmp_path / "there.ipynb", "a = 1")
    link, pipe, folder = (tmp_path / name for name in ("link.ipynb", "pipe.ipynb", "f.ipynb"))
    link.symlink_to(there)
    os.mkfifo(pipe)
    folder.mkdir()
    large = tmp_path / "large.ipynb"
    with large.open("wb") as file:
        file.truncate(10**9)
    for path in (link, pipe, folder, large, tmp_path / "missing.ipynb"):
        with pytest.raises(InputError, match="is not graded"):
            code_cells(path)
    monkeypatch.setattr(notebook_file, "BYTES", 10)
    with pytest.raises(InputError, match="10 B are allowed") as error:
        code_cells(there)
    assert str(error.value).count("is not graded") == 1
