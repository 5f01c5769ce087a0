# %% [markdown]
# # 00 Start: does it fit?
#
# 20 minutes. Click a cell and press **Shift+Enter** to run it. Guess first.

# %%
from memlab import doctor, lesson, no_reuse, plan, training_step, zoo

lesson.predict("00.case")

# %% tags=["solution", "picture-cards"]
lesson.predict("00.case").guess("18 GB", because="the card has 12").revise("40 GB").reveal()

# %% tags=["nbval-ignore-output"]
doctor()

# %% [markdown]
# You will be able to
#
# - answer questions and check exercises,
# - say what a larger batch costs.
#
# Words: [training step](glossary.md), [peak](glossary.md), [parameter](glossary.md).

# %% [markdown]
# ## What does a larger batch cost?
#
# A training step takes a **batch** of images. Forward computes the error, backward the gradients,
# and the update changes the parameters. The **peak** is the most memory at one moment. Now each
# array is freed after its last reader.

# %%
lesson.predict("00.double")

# %% tags=["solution", "picture-double"]
lesson.predict("00.double").guess("double", because="more images").revise("little").reveal()

# %% [markdown]
# ## Exercise: how many images fit?
#
# Find it with **Images** in the first picture, then compute it. 1 GB is 10⁹ bytes, 1 GiB is 2³⁰
# bytes.

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
# Now the step at the top: one more image adds `peak(2) - peak(1)` bytes; the rest of `peak(1)` is
# fixed. You should get the number that you found.

# %%
peak = plan(no_reuse(training_step(zoo.resnet50()))).peak
images_that_fit(12, fixed=2 * peak(1) - peak(2), each=peak(2) - peak(1))

# %% [markdown]
# ## What this lesson leaves out
#
# - Why these bytes: lesson 01.

# %% [markdown]
# ## Key points
#
# - The [mountain](glossary.md) grows with the batch; the [floor](glossary.md) stays.
#
# Next: [01 One linear layer](01_linear.ipynb).

# %% tags=["numbers"]
{
    "1 GB": "units.parse('1 GB')",
    "10⁹": "units.parse('1 GB')",
    "1 GiB": "units.parse('1 GiB')",
    "2³⁰": "units.parse('1 GiB')",
}
