"""Who handed in what, by the names that folders, Canvas and Moodle give."""

import os

import pytest

from memlab.classroom.notebook_file import BYTES
from memlab.classroom.submissions import handed_in, regular
from memlab.errors import InputError
from tests.classroom.handing_in import LESSON, notebook, record, write


def names(handed):
    return [(one.learner.name, one.lesson, one.notebook.name) for one in handed.submissions]


def test_a_folder_for_each_learner(tmp_path):
    handed = handed_in(
        write(
            tmp_path,
            {
                "ada/02_network.ipynb": notebook(),
                "ada/progress.json": record(seed=5),
                "bo/week 2/03_lowering.ipynb": notebook(),
                "bo/02_network.ipynb": notebook(),
                "cy/notes.txt": "",
                "marks.csv": "",
                "marks.csv.parts/02_network-1.json": "",
                "ada/.ipynb_checkpoints/02_network-checkpoint.ipynb": notebook(),
            },
        )
    )
    assert names(handed) == [
        ("ada", LESSON, "02_network.ipynb"),
        ("bo", LESSON, "02_network.ipynb"),
        ("bo", "03_lowering", "03_lowering.ipynb"),
    ]
    assert [learner.name for learner in handed.learners] == ["ada", "bo", "cy"]
    ada, bo, _ = handed.learners
    assert handed.seed(ada) == 5
    assert handed.seed(bo) == bo.seed != ada.seed
    assert handed.sentences == []


def test_the_flat_files_of_canvas(tmp_path):
    files = {
        "lovelaceada_12345_67890_02_network.ipynb": notebook(),
        "lovelaceada_12345_67891_progress.json": record(seed=5),
        "bobo_LATE_222_67892_02_network-2.ipynb": notebook(),
        "bobo_LATE_222_67893_02_network-1.ipynb": notebook(),
    }
    handed = handed_in(write(tmp_path, files))
    ada, bo = handed.learners[1], handed.learners[0]
    assert (ada.name, ada.number, ada.service) == ("lovelaceada", "12345", "canvas")
    assert (bo.name, bo.number) == ("bobo", "222")
    assert handed.seed(ada) == 5
    assert [one.notebook.name for one in handed.submissions] == [
        "bobo_LATE_222_67892_02_network-2.ipynb",
        "lovelaceada_12345_67890_02_network.ipynb",
    ]
    (said,) = handed.sentences
    assert (
        "bobo handed in 02_network 2 times: bobo_LATE_222_67892_02_network-2.ipynb counts" in said
    )


@pytest.mark.parametrize("between", ["_/", "_"])
def test_the_folders_and_the_flat_files_of_moodle(tmp_path, between):
    name = f"Ada Lovelace_12345_assignsubmission_file{between}02_network.ipynb"
    handed = handed_in(write(tmp_path, {name: notebook()}))
    (one,) = handed.submissions
    assert (one.learner.name, one.learner.number) == ("Ada Lovelace", "12345")
    assert (one.learner.service, one.lesson) == ("moodle", LESSON)


def test_a_lesson_is_known_by_its_name_else_by_its_metadata(tmp_path):
    files = {
        "ada/final version.ipynb": notebook(lesson=LESSON),
        "bo/my_02_network (1).ipynb": notebook(),
        "cy/other.ipynb": notebook(),
        "di/other.ipynb": notebook(lesson="../../etc"),
        "ed/other.ipynb": "[" * 100_000,
        "fy/other.ipynb": "null",
    }
    handed = handed_in(write(tmp_path, files))
    assert [one.learner.name for one in handed.submissions] == ["ada", "bo"]
    assert [said.partition(":")[0] for said in handed.sentences] == ["cy", "di", "ed", "fy"]
    assert handed.sentences[0] == "cy: other.ipynb left out, no lesson by name or metadata."


def test_who_handed_in_another_kind_of_file_is_a_learner_too(tmp_path):
    files = {"bobo_222_1_all.zip": "", "lovelaceada_333_2_mine.pdf": "", "slides.pdf": ""}
    handed = handed_in(write(tmp_path, files))
    assert [learner.name for learner in handed.learners] == ["bobo", "lovelaceada"]
    assert handed.sentences == ["bobo: bobo_222_1_all.zip left out, no lesson by name or metadata."]


def test_links_are_not_followed_and_pipes_are_not_opened(tmp_path):
    secret = write(tmp_path / "elsewhere", {"02_network.ipynb": notebook()})
    folder = write(tmp_path / "class", {"ada/notes.txt": "", "bo/x.txt": ""})
    (folder / "ada/02_network.ipynb").symlink_to(secret / "02_network.ipynb")
    (folder / "cy").symlink_to(secret)
    os.mkfifo(folder / "bo/02_network.ipynb")
    handed = handed_in(folder)
    assert names(handed) == []
    assert handed.sentences == [
        "ada: 02_network.ipynb not followed, a symbolic link.",
        "cy not followed, a symbolic link.",
    ]
    with pytest.raises(InputError, match="cannot be read"):
        regular(folder / "ada/02_network.ipynb", BYTES)
    with pytest.raises(InputError, match="no regular file"):
        regular(folder / "bo/02_network.ipynb", BYTES)


@pytest.mark.parametrize(
    "content", ["{", record().replace("/1", "/9"), "[" * 10_000, b"\xff\xfe", "1" * 5000]
)
def test_a_broken_progress_file_is_a_sentence(tmp_path, content):
    files = {"ada/02_network.ipynb": notebook(), "ada/progress.json": content}
    handed = handed_in(write(tmp_path, files))
    (ada,) = handed.learners
    assert handed.broken == {ada}
    assert handed.seed(ada) == ada.seed
    assert handed.sentences[0].startswith("ada: ")
    assert len(handed.submissions) == 1


def test_a_name_that_would_steer_a_terminal_is_shown(tmp_path):
    handed = handed_in(write(tmp_path, {"a\x1b[31m/x.ipynb": notebook()}))
    assert "\x1b" not in handed.sentences[0]
    assert r"a\x1b[31m" in handed.sentences[0]


def test_a_folder_of_too_many_files_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr("memlab.classroom.submissions.FILES", 5)
    files = {f"ada/{n}.txt": "" for n in range(9)}
    handed = handed_in(write(tmp_path, files))
    assert handed.sentences == ["ada has 5 files or more; others are left out."]


def test_the_folder_of_all_lessons_may_be_handed_in(tmp_path):
    files = dict.fromkeys(("02_network.ipynb", "solutions/02_network.ipynb"), notebook())
    files |= {
        "appendix/totals.ipynb": notebook(),
        "02_network-Copy1.ipynb": notebook(lesson=LESSON),
    }
    handed = handed_in(write(tmp_path, {f"ada/{name}": content for name, content in files.items()}))
    (one,) = handed.submissions
    assert one.notebook == tmp_path / "ada/02_network.ipynb"
    assert handed.sentences == [
        "ada handed in 02_network 3 times: 02_network.ipynb counts, not "
        "solutions/02_network.ipynb, 02_network-Copy1.ipynb."
    ]


def test_many_strange_files_are_one_sentence(tmp_path):
    files = {
        f"ada/{n}x.ipynb": notebook(lesson=LESSON if n == 99 else None) for n in range(10, 100)
    }
    handed = handed_in(write(tmp_path, files))
    assert handed.submissions == []
    assert handed.sentences == [
        "ada: 10x.ipynb, 11x.ipynb, 12x.ipynb and 87 others left out, no lesson by name or "
        "metadata."
    ]


def test_two_learners_of_one_name_have_two_labels(tmp_path):
    files = {f"lovelaceada_{n}_{n}0_02_network.ipynb": notebook() for n in (1, 2)}
    handed = handed_in(write(tmp_path, files))
    labels = [handed.label(learner) for learner in handed.learners]
    assert labels == ["lovelaceada (canvas 1)", "lovelaceada (canvas 2)"]


def test_a_folder_called_like_the_label_of_another_learner_has_another_one(tmp_path):
    names = ("ada_1_2_02_network", "ada_3_4_02_network", "ada (canvas 1)/02_network")
    handed = handed_in(write(tmp_path, {f"{name}.ipynb": notebook() for name in names}))
    assert len({handed.label(learner) for learner in handed.learners}) == 3


def test_a_file_of_nobody_is_a_sentence_and_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no folder of a learner"):
        handed_in(tmp_path)
    with pytest.raises(InputError, match="is no folder"):
        handed_in(tmp_path / "nowhere")
    write(tmp_path, {"02_network.ipynb": notebook(), "ada/02_network.ipynb": notebook()})
    handed = handed_in(tmp_path)
    assert handed.sentences == ["02_network.ipynb was left out: its name does not say whose it is."]


def test_a_notebook_that_is_packed_or_has_another_end_is_not_passed_over(tmp_path):
    files = {"a/02_NETWORK.IPYNB": notebook(), "b/02_network.ipynb.txt": "", "c/all.RAR": ""}
    handed = handed_in(write(tmp_path, files))
    assert names(handed) == [("a", LESSON, "02_NETWORK.IPYNB")]
    left = [sentence for sentence in handed.sentences if "left out" in sentence]
    assert [sentence.split(" left")[0] for sentence in left] == [
        "b: 02_network.ipynb.txt", "c: all.RAR"]  # fmt: skip
