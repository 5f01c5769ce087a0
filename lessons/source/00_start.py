# %% [markdown]
# # 00 Start: is my set-up right, and what is where?
#
# 10 minutes. Needs: nothing before it.
#
# You will be able to
#
# - check your set-up, and mend it,
# - plan a training step and read its bytes, in MB and in MiB,
# - predict with a card, check an exercise, and ask for a hint,
# - move a live view with the mouse or with keys, and read it as text.
#
# Words: [peak](glossary.md), [parameter](glossary.md), [MB, GB](glossary.md),
# [MiB, GiB](glossary.md), [floor](glossary.md), [mountain](glossary.md).
#
# To run a cell, click it and press Shift+Enter; the next one is then selected. Run every cell, in
# order: cards and views get their buttons when you run them. Begin with the cell below. Your set-up
# is right when its last line says "No problem."

# %% tags=["nbval-ignore-output"]
from memlab import doctor

print(doctor.report(doctor.examine()))

# %% [markdown]
# Does a line begin with `problem`? The line below it says what mends it. Do that in a terminal,
# then choose Kernel > Restart Kernel here. A `note` stops nothing.

# %% [markdown]
# ## One line plans every byte of a training step
#
# `linear1` is a network of one layer: 1 weight and 1 bias.

# %%
import memlab
from memlab import lesson, units, views, zoo

ledger = memlab.plan(memlab.training_step(zoo.linear1()))
print(units.exact(ledger.peak(batch=4)))

# %% [markdown]
# The ledger lists every operation of the step, and every block of memory that one of them needs.
# It is a plan: nothing has run yet. The **peak** is the most that is alive at one moment. In a
# formula, B is the batch, F the features that go in and K those that come out.
#
# Before you change the batch, predict. A guess helps you to learn also when it is wrong.
# Type it below with its unit, lock it, then reveal.

# %%
sample = lesson.predict("00.sample")
sample

# %% tags=["solution"]
sample.guess("4 B").reveal()

# %% [markdown]
# The next cell shows the peaks, and what is alive there. A cell that would give an answer away
# waits for your guess.

# %%
if sample.answered():
    print([ledger.peak(batch) for batch in (4, 5, 6)])
    print(ledger.why(batch=4).text())

# %% [markdown]
# ## A unit can decide whether a plan fits
#
# 1 MB is 10⁶ bytes and 1 GB is 10⁹. 1 MiB is 2²⁰ bytes and 1 GiB is 2³⁰.
# Many texts write MB and mean MiB. Here each unit means what it says.

# %%
unit = lesson.predict("00.unit")
unit

# %% tags=["solution"]
unit.guess("fails").reveal()

# %%
if unit.answered():
    print(units.both(10**9), units.both(2**30))

# %% [markdown]
# ## Drag the batch, and see which bytes follow
#
# AlexNet is a network for photographs, with more parameters than `linear1` by far.

# %%
double = lesson.predict("00.double")
double

# %% tags=["solution"]
double.guess("double").reveal()

# %% [markdown]
# To see why, run the next cell. It is one training step of `mnist_cnn`, a smaller network for
# handwritten digits, from left to right. Then move **Batch**.

# %%
view = views.memory("mnist_cnn", networks=("mnist_cnn",))
view

# %% [markdown]
# The mountain above the thick line is what each image needs. The floor below the line is the same
# for every batch.
#
# | to do this | press |
# |---|---|
# | go to the next control | Tab |
# | change the batch | ← → on the slider |
# | go through the operations | ← → on the picture |
# | go to the peak | P on the picture |
# | see all numbers, or few again | N on the picture |
# | read it as text | the button **Text** |
# | go back to where the view began | the button **Start** |
# | take the line of Python with you | the button **Copy state** |
#
# And AlexNet?

# %%
if double.answered():
    alexnet = views.memory("alexnet", networks=("alexnet", "mnist_cnn"))
    alexnet.batch = 64
    display(alexnet)

# %% [markdown]
# **Change it.** Choose `mnist_cnn` in that view, and double its batch. Which of the two networks
# comes closer to the double, and why?

# %% [markdown] tags=["solution"]
# **Answer.** `mnist_cnn`: its mountain is larger against its floor than that of AlexNet.

# %% [markdown]
# ## Exercise: bytes in MiB
#
# Write the function: from a number of bytes to a number of MiB. Then run the cell with `check`. It
# tries your function on numbers that it draws afresh.

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
# Stuck? The button **Hint**, or `exercise.hint()`, helps in 3 degrees.

# %% [markdown]
# ## What is where
#
# | where | what |
# |---|---|
# | `my/` | your copies of the lessons, which `make lab` opens; what you change there is yours |
# | `my/progress.json` | your guesses and checks, here alone, no marks: `memlab progress` shows it |
# | `lessons/` | the lessons as they come; a `git pull` changes these and leaves yours alone |
# | `lessons/solutions/` | every exercise solved, with its output |
# | [glossary](glossary.md) | the words, each with its Chinese and Japanese name |
#
# You come back another day? Choose Run > Run All Cells: a card or a view that says "model not
# found" is there again. Cards then ask anew. Letters with numbers in brackets, such as (A4), name
# facts that were checked; for most of them `memlab claims A4` in a terminal computes the figures.
#
# To start a lesson again, rename or delete your copy, and run `make lab` again: it makes a fresh
# one. On a projector, make everything larger with a cell of these 2 lines:
#
# ```
# %%html
# <style>:root { --memlab-scale: 1.5 }</style>
# ```

# %% [markdown]
# ## What this lesson leaves out
#
# - Why a step needs these bytes: that begins in lesson 01.
# - Seconds: a plan has bytes alone.

# %% [markdown]
# ## Key points
#
# - `memlab.plan(memlab.training_step(network))` lists the bytes of a step.
# - MB counts in powers of 10, MiB in powers of 2. For giga they differ by 7.4 %.
# - Bytes that grow with the batch are the mountain; the others are the floor.
#
# Next: [01 One linear layer](01_linear.ipynb). What must one training step keep?

# %% tags=["numbers"]
{
    "7.4 %": "100 * 2**30 / 10**9 - 100",
    "1 MB": "units.parse('1 MB')",
    "10⁶ bytes": "units.parse('1 MB')",
    "1 GB": "units.parse('1 GB')",
    "1 MiB": "units.parse('1 MiB')",
    "2²⁰ bytes": "units.parse('1 MiB')",
    "1 GiB": "units.parse('1 GiB')",
    "10⁹": "units.parse('1 GB')",
    "2³⁰": "units.parse('1 GiB')",
}
