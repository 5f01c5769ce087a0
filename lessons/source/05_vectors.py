# %% [markdown]
# # 05 Mini-batch and vectors: what does a larger batch buy?
#
# 45 minutes. Needs: [03 Lowering](03_lowering.ipynb).
#
# You will be able to
#
# - say which layers fill the lanes of a vector at batch 1,
# - say how the bytes that a layer reads and writes grow with the batch,
# - take an argument apart into its links, and test each.
#
# Words: [mini-batch](glossary.md), [vector](glossary.md), [lane](glossary.md).

# %%
import memlab
from memlab import counting, lesson, units, zoo

lesson.recall("05.stays")

# %% tags=["solution"]
lesson.recall("05.stays").guess("parameters").reveal()

# %%
lesson.recall("05.quarter")

# %% tags=["solution"]
lesson.recall("05.quarter").guess(4).reveal()

# %%
from memlab import views

views.memory("resnet50", batch=1, only=("batch",))

# %% [markdown]
# Move **Batch** from 1 to 32. The peak grows from 370 MB to 2.94 GB. What do 31 more images buy?
#
# A text (Graphcore, 2017) has an answer:<sup>A5</sup>
#
# 1. A GPU computes with **vectors**, typically of 1024 bits: rows of values that one instruction
#    computes together. Each value has its **lane**.
# 2. A number has 32 bits, so a vector has 32 lanes.
# 3. Each sample fills 1 lane, so 32 samples are needed.
#
# A second text, which re-tells it in Chinese, adds a link:<sup>A6</sup>
#
# 4. With 16 bits, 64 are needed. Half the bytes, twice the samples: half precision saves nothing.
#
# Link 1 depends on the machine: vectors of most CPUs have 128, 256 or 512 bits. Link 2 is a
# division. More: [what does a wider vector buy?](appendix/bandwidth.ipynb) And who says it: [does
# it matter what a text sells?](appendix/seller.ipynb)

# %% [markdown]
# ## Which layers fill their lanes at batch 1?
#
# Link 3. A layer is a matrix product, and the columns of the result go to the lanes: with 1 column,
# 1 lane of a vector works. In a linear layer each sample is a column.

# %%
columns = lesson.predict("05.columns")


@columns.then
def the_vectors_of_one_image():
    return views.vectors("resnet50", batch=1, only=("batch", "bits"))


columns

# %% tags=["solution", "picture-columns"]
columns.guess(1, because="one sample, one column").revise(7).reveal()

# %%
lesson.change("05.fill")

# %% tags=["solution"]
lesson.change("05.fill").guess(8).reveal()

# %% [markdown]
# ## Does half precision ask for twice the batch?
#
# Link 4. In 16 bits a vector of 1024 bits has 64 lanes. The first text says elsewhere that lower
# precision could halve or even quarter what is stored.<sup>A13</sup> The second says: it saves
# nothing. Can both be right?

# %%
half = lesson.predict("05.half")


@half.then
def the_same_batch():
    step = memlab.training_step(zoo.resnet50(), "adam")
    mixed, peak = memlab.precision(step, "mixed fp16"), memlab.plan(step).peak(32)
    values = counting.find("conv-sums").values(zoo.resnet50(variant="v1"))  # as the text counts
    for size, each, batch in ((4, step, 32), (2, mixed, 64), (2, mixed, 32)):
        maps, part = units.short(size * values * batch), memlab.plan(each).peak(batch) / peak
        print(f"{size} B, batch {batch}: maps {maps}, peak {part:.3f} of fp32")
    return views.vectors("resnet50", batch=32, format="fp16", only=("batch", "source"))


half

# %% tags=["solution", "picture-half"]
half.guess("half").revise("few").reveal()

# %% [markdown]
# ## Which bytes grow with the batch?
#
# So what does a batch buy, if not lanes? Look at the bytes that a layer reads and writes.

# %%
weights = lesson.predict("05.weights")
weights

# %% tags=["solution"]
weights.guess(16, because="16 times the samples").revise(1).reveal()

# %%
maps = lesson.predict("05.maps")


@maps.then
def both_layers():
    return views.batch_times(("linear-4096", "pixels"), progress=False)


maps

# %% tags=["solution", "nbval-ignore-output", "recorded-maps"]
maps.guess(1, because="the weights are shared").revise(15).reveal()

# %% [markdown]
# ## Exercise: which lanes are idle?
#
# **Worked.** `conv5_1` of VGG-16 at batch 1, on vectors of 16 fp32 lanes. **Shapes:** the lowered
# matrix has 14·14 = 196 columns. They need 13 vectors, and 12 lanes of the last one are idle.
# **Bytes:** the weights take 512·512·3·3·4 B, the input and the output of 1 image 2·512·14·14·4 B.
# **Lifetime:** weights are read once for a batch, maps once for each image. **Peak:** maps of all
# images are kept, and the weights are there once.

# %%
weights, both = 512 * 512 * 3 * 3 * 4, 2 * 512 * 14 * 14 * 4
print(f"weights {weights:,} B, input and output {both:,} B, idle lanes {13 * 16 - 196}")

# %% [markdown]
# **With blanks.** The lanes of any convolution, at any batch, in any vector:

# %%
exercise = lesson.exercise("05.vectors")
exercise.show()


# %% tags=["stub"]
def vectors(width, bits, batch, size, k, stride, pad):
    rows = (size + 2 * pad - k) // stride + 1
    columns = ...  # output places of the whole batch
    return None  # replace None: how many vectors, how many idle lanes


# %% tags=["solution"]
def vectors(width, bits, batch, size, k, stride, pad):
    rows = (size + 2 * pad - k) // stride + 1
    columns = batch * rows * rows
    lanes = width // bits
    count = -(-columns // lanes)
    return count, count * lanes - columns


# %%
exercise.check(vectors)

# %% [markdown]
# Your function on the smallest maps of ResNet-50, in vectors of 32 and 64 lanes: how many vectors,
# how many idle lanes?

# %%
for bits in (32, 16):
    for batch in (1, 32):
        print(f"{bits} bits, batch {batch}:", vectors(1024, bits, batch, 7, 3, 1, 1))

# %% [markdown]
# ## What this lesson leaves out
#
# - Lanes can be filled from output channels as well: choose them in the view.
# - A GPU has many more lanes than a vector. Columns of all places fill them.
# - Lowered copies and gradients move too. Caches keep some bytes near.
# - The batch changes what is learned, and how fast.
#
# Sources: A5, A6, A13.

# %% [markdown]
# ## The case so far

# %%
lesson.predict("05.case")

# %% tags=["solution"]
lesson.predict("05.case").guess("three").reveal()

# %% [markdown]
# ## Key points
#
# - A linear layer gives B columns to the lanes, a lowered convolution B·Ho·Wo: 1 image is enough.
# - At the same batch, half of the bits are half of the bytes of the maps.
# - A larger batch shares the weights: much in a linear layer, little in an early convolution.
# - The arithmetic of both texts is right. Link 3 is false for convolutions, so link 4 is a choice:
#   who keeps the batch saves half of the maps, who doubles it saves nothing.
#
# Next: [07 In place and sharing](07_sharing.ipynb), on the main road. Or one more side road:
# [06 Precision](06_precision.ipynb).

# %% tags=["numbers"]
{
    "370 MB": "memlab.plan(memlab.training_step(zoo.resnet50())).peak(1) / 1e6",
    "2.94 GB": "memlab.plan(memlab.training_step(zoo.resnet50())).peak(32) / 1e9",
    "14": "zoo.vgg16().by_name['conv5_1'].shape[1]",
    "128": "formats.find('fp32').bits * 4",
    "256": "formats.find('fp32').bits * 8",
    "1024": "formats.find('fp32').bits * 32",
    "64": "formats.find('fp16').lanes(1024)",
    "12": "13 * 16 - 196",
}
