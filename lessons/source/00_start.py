# %% [markdown]
# # 00 Start: does it fit?
#
# 20 minutes. Click a cell and press **Shift+Enter** to run it. Guess first; you need to know
# nothing yet.

# %%
from memlab import doctor, lesson

lesson.predict("00.case")

# %% tags=["solution", "picture-cards"]
lesson.predict("00.case").guess("18 GB", because="the card has 12").revise("40 GB").reveal()

# %% tags=["nbval-ignore-output"]
doctor()

# %% [markdown]
# If this line does not say "ready", it says what to type in a terminal. Then restart the kernel:
# Kernel > Restart Kernel.
#
# You will be able to
#
# - check your set-up, and fix it,
# - lock a guess, move a live view, and check an exercise,
# - say how memory changes with the number of images.
#
# Words: [batch size](glossary.md), [training step](glossary.md), [peak](glossary.md),
# [parameter](glossary.md), [MB, GB](glossary.md), [MiB, GiB](glossary.md).

# %% [markdown]
# ## How does the peak change with the batch?
#
# A training step takes some images at once: its **batch**. Forward computes the error, backward
# finds a gradient for each parameter, and the update (here SGD, the simplest) changes the
# parameters. The **peak** is the most bytes that are in memory at one moment.
#
# A wrong guess helps too: you get a question and a second try. An amount is right within 10 %, and
# a factor within 10 % of its distance from 1: 1.9 is right for 2.

# %%
lesson.predict("00.double")

# %% tags=["solution", "picture-double"]
lesson.predict("00.double").guess("double", because="more images").revise("less").reveal()

# %% [markdown]
# ## Exercise: how many images fit?
#
# You moved **Images** until they fitted one card. Write a function that finds that number. 1 GB is
# 10⁹ bytes; 1 GiB, in which some programs count, is 2³⁰ bytes: 7.4 % more.
#
# Replace `None`, run the cell, then the one below it, which tries your function on new numbers.

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
# | `my/` | your copies of the lessons; your guesses, which stay on this computer |
# | `lessons/solutions/` | every card and exercise solved |
#
# On another day, first choose Run > Run All Cells.

# %% [markdown]
# ## What this lesson leaves out
#
# - Why a step needs these bytes: lesson 01.
# - Nothing ran: the bytes were planned. Lesson 01 also measures.

# %% [markdown]
# ## Key points
#
# - The case of the course: ResNet-50, 256 images, a card of 12 GB. Each lesson brings it nearer.
# - The [mountain](glossary.md) grows with the batch. The [floor](glossary.md) is the same for every
#   batch.
# - The images that fit: what the floor leaves, divided by the bytes of one image.
#
# Next: [01 One linear layer](01_linear.ipynb). What must one training step keep?

# %% tags=["numbers"]
{
    "10 %": "100 * memlab.lesson.misconceptions.NEAR",
    "1.9": "2 - memlab.lesson.misconceptions.NEAR",
    "1 GB": "units.parse('1 GB')",
    "1 GiB": "units.parse('1 GiB')",
    "10⁹": "units.parse('1 GB')",
    "2³⁰": "units.parse('1 GiB')",
    "7.4 %": "100 * 2**30 / 10**9 - 100",
}
