# %% [markdown]
# # 00 Start: does it fit?
#
# 20 minutes. Click a cell and press **Shift+Enter** to run it. Guess first; you need to know
# nothing yet.

# %%
from memlab import doctor, lesson, views

lesson.predict("00.case")

# %% tags=["solution", "picture-cards"]
lesson.predict("00.case").guess("18 GB", because="the card has 12").revise("40 GB").reveal()

# %% tags=["nbval-ignore-output"]
doctor()

# %% [markdown]
# If the line above does not say "ready", it says what to type in a terminal. Then choose
# Kernel > Restart Kernel.
#
# You will be able to
#
# - check your set-up, and fix it,
# - lock a guess, move a live view, and check an exercise,
# - say how the memory of a training step changes with the number of images.
#
# Words: [batch size](glossary.md), [training step](glossary.md), [peak](glossary.md),
# [parameter](glossary.md), [MB, GB](glossary.md), [MiB, GiB](glossary.md).

# %% [markdown]
# ## How does the peak change with the batch?
#
# A training step takes some images at once: its **batch**. Forward computes from the images to the
# error, backward finds a gradient for each parameter, and the update (here SGD, the simplest)
# changes the parameters. The **peak** is the most bytes that are in memory at one moment.
#
# A wrong guess helps too, and gets no mark: you get a question and a second try. An amount is right
# within 10 %, a factor within 10 % of its distance from 1, and a count only if it is exact.

# %%
lesson.predict("00.double")

# %% tags=["solution", "picture-double"]
lesson.predict("00.double").guess("double", because="more images").revise("less").reveal()

# %% [markdown]
# ## Exercise: how many images fit?
#
# You moved **Images** until the step fitted one card. Now write the function that finds this number
# for any card. A card's memory is given in GB: 1 GB is 10⁹ bytes. Some programs count in GiB, and
# 1 GiB is 2³⁰ bytes, which is 7.4 % more.
#
# Replace `None` by your result, run its cell, then the cell with `check`: it tries your function on
# new numbers. The button **Hint** helps in 3 steps.

# %%
exercise = lesson.exercise("00.images_that_fit")
exercise.show()


# %% tags=["stub"]
def images_that_fit(card, fixed, each):
    return None  # replace None


# %% tags=["solution"]
def images_that_fit(card, fixed, each):
    return max(0, (card * 10**9 - fixed) // each)


# %%
exercise.check(images_that_fit)

# %% [markdown]
# ## What is where
#
# | where | what |
# |---|---|
# | `my/` | your copies of the lessons, which `make lab` opens |
# | `my/progress.json` | your guesses; they stay on this computer. `memlab progress` shows them |
# | `lessons/solutions/` | every card and exercise solved |
# | [glossary](glossary.md) | the words, in English, Chinese and Japanese |
#
# On another day, first choose Run > Run All Cells. A raised code such as A4 marks a checked claim:
# `memlab claims A4` in a terminal computes it.

# %% [markdown]
# ## What this lesson leaves out
#
# - Why a step needs these bytes: lesson 01.
# - Nothing ran: the bytes were planned. Lesson 01 also measures.

# %% [markdown]
# ## The case so far
#
# Your first card is the case of the whole course. Each lesson asks you for one bar of this picture:

# %% tags=["picture-case"]
views.case("00")

# %% [markdown]
# ## Key points
#
# - The [mountain](glossary.md) grows with the batch. The [floor](glossary.md) is the same for every
#   batch.
# - The images that fit are what the floor leaves, divided by the bytes of one image.
#
# Next: [01 One linear layer](01_linear.ipynb). What must one training step keep?

# %% tags=["numbers"]
{
    "10 %": "100 * memlab.lesson.misconceptions.NEAR",
    "1 GB": "units.parse('1 GB')",
    "1 GiB": "units.parse('1 GiB')",
    "10⁹": "units.parse('1 GB')",
    "2³⁰": "units.parse('1 GiB')",
    "7.4 %": "100 * 2**30 / 10**9 - 100",
}
