# %% [markdown]
# # 00 Start: is my set-up right, and what is where?
#
# 20 minutes. Needs: nothing before it.
#
# You will be able to
#
# - check your set-up, and mend it,
# - lock a guess, move a live view, and check an exercise,
# - say what a larger batch costs.
#
# Words: [batch size](glossary.md), [training step](glossary.md), [peak](glossary.md),
# [parameter](glossary.md), [MB, GB](glossary.md), [MiB, GiB](glossary.md).
#
# To run a cell, click it and press Shift+Enter. Run every cell, in order. Your set-up is right when
# the last line below says "No problem."

# %% tags=["nbval-ignore-output"]
from memlab import doctor, lesson, views

print(doctor.report(doctor.examine()))

# %% [markdown]
# Does a line begin with `problem`? The line below it says what to type in a terminal. Then choose
# Kernel > Restart Kernel. A `note` stops nothing.

# %% [markdown]
# ## What does a larger batch cost?
#
# A training step takes some images at once: its **batch**. Forward computes from the images to the
# error, backward finds a gradient for each parameter, and the update (here SGD, the plainest) moves
# the parameters. The **peak** is the most bytes that are alive at one moment of the step.
#
# Guess first; you need to know nothing yet. A wrong guess helps too, and gets no mark: you get a
# question and a second try. A number is right within 10 % of the answer, a factor within 10 % of
# its distance from 1 (1.9 for 2), and a count only if it is exact.

# %%
double = lesson.predict("00.double")


@double.then
def alexnet():
    step = views.memory("alexnet", 32, "sgd", only=("batch",))
    step.batch = 64
    return step


double

# %% tags=["solution", "picture-double"]
double.guess("double", because="each image takes the same").revise("less").reveal()

# %% [markdown]
# | to do this in a picture | press |
# |---|---|
# | change the batch | Tab to the slider, then ← → |
# | go through the operations | Tab to the picture, then ← → |
# | go to the peak | P |
# | see all numbers, or few again | N |
# | read it as text | the button **Text** |
# | go back to where it began | the button **Start** |

# %% [markdown]
# ## Exercise: bytes in MiB
#
# 1 MB is 10⁶ bytes and 1 GB is 10⁹. 1 MiB is 2²⁰ bytes and 1 GiB is 2³⁰. Many texts write MB and
# mean MiB. Here each unit means what it says.
#
# Replace `None` by your function's result, run its cell, then the cell with `check`: it tries your
# function on fresh numbers. Stuck? The button **Hint** helps in 3 degrees.

# %%
exercise = lesson.exercise("00.mebibytes")
exercise.show()


# %% tags=["stub"]
def mebibytes(nbytes):
    return None  # replace None


# %% tags=["solution"]
def mebibytes(nbytes):
    return nbytes / 2**20


# %%
exercise.check(mebibytes)

# %% [markdown]
# ## What is where
#
# | where | what |
# |---|---|
# | `my/` | your copies of the lessons, which `make lab` opens |
# | `my/progress.json` | your guesses, here alone: `memlab progress` shows them |
# | `lessons/solutions/` | every card and exercise solved |
# | [glossary](glossary.md) | the words, in English, Chinese and Japanese |
#
# On another day, first choose Run > Run All Cells. A small raised code names a fact that was
# checked: `memlab claims A4` in a terminal computes it.

# %% [markdown]
# ## What this lesson leaves out
#
# - Why a step needs these bytes: lesson 01.
# - Nothing ran: the bytes were planned. Lesson 01 also measures.

# %% [markdown]
# ## The case so far
#
# One case goes through the course: ResNet-50 on a card of 12 GB. Lessons add bars to this picture:

# %% tags=["picture-case"]
views.case("00")

# %% [markdown]
# ## Key points
#
# - The [mountain](glossary.md) grows with the batch. The [floor](glossary.md) is the same for every
#   batch.
# - MB counts in powers of 10, MiB in powers of 2. For giga they differ by 7.4 %.
#
# Next: [01 One linear layer](01_linear.ipynb). What must one training step keep?

# %% tags=["numbers"]
{
    "7.4 %": "100 * 2**30 / 10**9 - 100",
    "10 %": "100 * memlab.lesson.misconceptions.NEAR",
    "1.9": "2 - memlab.lesson.misconceptions.NEAR",
    "1 MB": "units.parse('1 MB')",
    "10⁶ bytes": "units.parse('1 MB')",
    "1 GB": "units.parse('1 GB')",
    "1 MiB": "units.parse('1 MiB')",
    "2²⁰ bytes": "units.parse('1 MiB')",
    "1 GiB": "units.parse('1 GiB')",
    "10⁹": "units.parse('1 GB')",
    "2³⁰": "units.parse('1 GiB')",
}
