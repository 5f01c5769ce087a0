# %% [markdown]
# # 02 A whole network: what does a smaller batch save?
#
# 45 minutes. Needs: [01 One linear layer](01_linear.ipynb).

# %%
import memlab
from memlab import lesson, units, views, zoo

views.memory("alexnet", 256, only=("batch",), budgets=(), free=False, largest=256, height=140)

# %% [markdown]
# Halve **Batch**: does the peak halve? The **mountain** above the thick line follows the batch, the
# **floor** below it stays.
#
# You will be able to
#
# - say how many bytes each array around a convolution takes, and how long it stays in memory,
# - say how much a smaller batch saves,
# - keep the batch and save the memory, by accumulating gradients,
# - compute the largest batch that fits.
#
# Words: [convolution](glossary.md), [workspace](glossary.md), [floor](glossary.md),
# [mountain](glossary.md), [optimizer state](glossary.md), [accumulation](glossary.md).

# %%
lesson.recall("02.reads")

# %% tags=["solution"]
lesson.recall("02.reads").guess("both").reveal()

# %%
lesson.recall("02.inference")

# %% tags=["solution"]
lesson.recall("02.inference").guess("next").reveal()

# %% [markdown]
# ## What does a convolution keep for backward?
#
# One layer of a network for handwritten digits reads images of 28·28 pixels. It has 64 kernels of
# 5·5, and a ReLU follows.

# %%
lesson.predict("02.output")

# %% tags=["solution"]
lesson.predict("02.output").guess("12.8 MB", because="it needs both").revise("6.4 MB").reveal()

# %% [markdown]
# Ask four questions about each layer. **Shape:** how many values? Here images · kernels · rows ·
# columns. **Bytes:** how many for each value? 4 in fp32. **Lifetime:** which operation writes it,
# and which reads it last? **Peak:** in which operation are the most bytes alive?
#
# The picture also has a pooling and the loss. Set **Batch** to 64: the workspace does not grow,
# because the images use it one after the other.

# %% [markdown]
# ## What does half a batch save?
#
# VGG-16 ends in 3 large linear layers.

# %%
lesson.predict("02.halve")

# %% tags=["solution", "picture-vgg"]
lesson.predict("02.halve").guess(2, because="half of all bytes").revise("1.1").reveal()

# %% [markdown]
# ResNet-50 ends in one small linear layer.

# %%
lesson.predict("02.resnet")

# %% tags=["solution", "picture-resnet"]
lesson.predict("02.resnet").guess("1.1").revise("1.9").reveal()

# %% [markdown]
# ## Can you keep the batch and save the memory?
#
# **Gradient accumulation** computes the batch in parts, and updates once.

# %%
lesson.predict("02.accumulate")

# %% tags=["solution", "picture-parts"]
lesson.predict("02.accumulate").guess("same").revise("higher").reveal()

# %% [markdown]
# In memlab: `memlab.accumulate(step, parts=2)`. In PyTorch, divide each loss by 2, call
# `backward()` for each part, then `optimizer.step()` once.
#
# ResNet-50 has batch norms, and each one normalizes a part by its own 16 images: so the update is
# not exactly that of all 32 at once. Without batch norm it is, up to rounding.

# %% [markdown]
# ## Exercise: which batch fits?
#
# **Worked.** VGG-16 with Adam. **Shapes** and **bytes:** the plan knows the fixed bytes of each
# array, and the bytes that each image adds. **Lifetime:** for each operation it adds up the arrays
# that are alive. Here are two operations, first in 2.4 GB of memory, then in 4 GB.

# %%
plan = memlab.plan(memlab.training_step(zoo.vgg16(), "adam"))
fixed, each = (line.tolist() for line in plan.line())
for at in (56, 75):
    batches = [(units.parse(memory) - fixed[at]) // each[at] for memory in ("2.4 GB", "4 GB")]
    floor, image = units.in_unit(fixed[at], "GB"), units.short(each[at])
    print(f"{plan.rows[at].name}: floor {floor}, each image {image}, fits {batches}")

# %% [markdown]
# **Peak:** the batch has to fit in every operation. In 2.4 GB the second one decides: batch 1. In
# 4 GB the first one decides: batch 28.
#
# **Alone.** Now for all operations of any network. The memory may be smaller than the
# floor of one operation.

# %%
exercise = lesson.exercise("02.largest_batch")
exercise.show()


# %% tags=["stub"]
def largest_batch(memory, fixed, each):
    return None  # replace None


# %% tags=["solution"]
def largest_batch(memory, fixed, each):
    if memory < max(fixed):
        return 0  # below the floor
    return min((memory - a) // b for a, b in zip(fixed, each, strict=True) if b)


# %%
exercise.check(largest_batch)

# %% [markdown]
# Your function on the ResNet-50 of lesson 00:

# %%
lines = memlab.plan(memlab.training_step(zoo.resnet50())).line()
for memory in ("4 GB", "24 GB"):
    print(memory, largest_batch(units.parse(memory), *(line.tolist() for line in lines)))

# %% [markdown]
# ## What this plan leaves out
#
# - The plan does not count memory that a library keeps for itself.
# - Another framework may keep other arrays, take other workspaces, and free gradients at another
#   time.
# - Published totals differ: [counting rules](appendix/counting_rules.ipynb), [round
#   figures](appendix/figures.ipynb), [3 totals of VGG-16](appendix/totals.ipynb), and [the rule of
#   thumb for your own network](appendix/thumb_rule.ipynb).

# %% [markdown]
# ## The case so far

# %%
lesson.predict("02.case")

# %% tags=["solution"]
lesson.predict("02.case").guess(2).revise(3).reveal()

# %% [markdown]
# ## Key points
#
# - The peak is the floor plus the mountain at **one** operation. Only the mountain grows with the
#   batch.
# - Where the floor is large (VGG-16 with Adam, batch 8), a smaller batch saves little. Where the
#   mountain is large (ResNet-50, [larger batches](appendix/lean_networks.ipynb)), try it first.
# - Accumulation saves nearly as much as a smaller batch, and keeps the batch.
#
# Next: [07 In place and sharing](07_sharing.ipynb). Or a side road:
# [03 Lowering](03_lowering.ipynb), [06 Precision](06_precision.ipynb).
