# %% [markdown]
# # 05 Mini-batch and vectors: what does a larger batch buy?
#
# 45 minutes. Needs: [03 Lowering](03_lowering.ipynb).

# %%
from memlab import lesson, views

views.batch_speed()

# %% [markdown]
# Move **Batch** to 32. Then an image takes far less time in the linear layer, but not in the
# convolution. Why?
#
# You will be able to
#
# - say which bytes the images of a batch share in a layer,
# - say which layers fill the lanes of a vector at batch 1,
# - test an argument step by step.
#
# Words: [mini-batch](glossary.md), [vector](glossary.md), [lane](glossary.md).

# %%
lesson.recall("05.stays")

# %% tags=["solution"]
lesson.recall("05.stays").guess("parameters").reveal()

# %%
lesson.recall("05.quarter")

# %% tags=["solution"]
lesson.recall("05.quarter").guess(4).reveal()

# %% [markdown]
# ## Which bytes grow with the batch?
#
# The arithmetic for an image is the same at every batch. But a layer also moves bytes: it reads
# weights and input, and writes its output.

# %%
lesson.predict("05.weights")

# %% tags=["solution", "picture-weights"]
lesson.predict("05.weights").guess(16, because="16 times the images").revise(1).reveal()

# %%
lesson.predict("05.maps")

# %% tags=["solution"]
lesson.predict("05.maps").guess(1, because="the weights are shared").revise(15).reveal()

# %% [markdown]
# Measure both layers (10 seconds):

# %% tags=["nbval-ignore-output", "recorded-maps"]
views.batch_times(("linear-4096", "pixels"), progress=False)

# %% [markdown]
# ## Does each image fill one lane?
#
# A text (Graphcore, 2017) gives another reason for batches.<sup>A5</sup> A GPU computes with
# **vectors**, typically of 1024 bits: one instruction computes 32 values of 32 bits together, each
# in its own **lane**. If each image fills one lane, it takes 32 images to fill all lanes.
#
# Let the columns of a matrix product fill the lanes. In a linear layer, each image is one column.

# %%
lesson.predict("05.columns")

# %% tags=["solution", "picture-columns"]
lesson.predict("05.columns").guess(1, because="one image, one column").revise(7).reveal()

# %% [markdown]
# ## Does half precision ask for twice the batch?
#
# In 16 bits, the same vector has 64 lanes. A second text, in Chinese, says: then a batch needs 64
# images, twice as many with half the bytes each. So, it says, half precision saves
# nothing.<sup>A6</sup> The first text says that it could halve what is stored.<sup>A13</sup> Are
# both right?

# %%
lesson.predict("05.half")

# %% tags=["solution", "picture-half"]
lesson.predict("05.half").guess("half").revise("few").reveal()

# %% [markdown]
# ## Exercise: which lanes are idle?
#
# **Worked.** `conv5_1` of VGG-16 at batch 1, in vectors of 16 fp32 lanes. **Shapes:** the lowered
# matrix has 14·14 = 196 columns. They need 13 vectors, and 12 lanes of the last one are idle.
# **Bytes:** the weights take 512·512·3·3·4 B, input and output of 1 image 2·512·14·14·4 B.
# **Lifetime:** all are needed until the product is computed. **Peak:** the weights once, the
# feature maps for each image. The weights are 12 times the feature maps of one image, so at
# batch 16 an image takes 7 times fewer bytes. The time hardly falls: the layer computes 90
# operations for each byte.
#
# **With blanks.** The vectors and idle lanes of any convolution, at any batch:

# %%
exercise = lesson.exercise("05.vectors")
exercise.show()


# %% tags=["stub"]
def vectors(width, bits, batch, size, k, stride, pad):
    rows = (size + 2 * pad - k) // stride + 1
    columns = ...  # output positions of the whole batch
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
# ## What this lesson leaves out
#
# More: [what does a wider vector buy?](appendix/bandwidth.ipynb), [does it matter what a text
# sells?](appendix/seller.ipynb)
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
# - A larger batch shares the weights: the bytes per image fall a lot in a linear layer, little
#   in an early convolution. The time falls only where a layer waits for bytes.
# - An image is 1 column in a linear layer, but Ho·Wo columns in a lowered convolution: it
#   fills most lanes.
# - With half the bits, feature maps take half the bytes, but at twice the batch nothing is saved.
#
# Next: [07 In place and sharing](07_sharing.ipynb), or first [06 Precision](06_precision.ipynb).

# %% tags=["numbers"]
{
    "14": "zoo.vgg16().by_name['conv5_1'].shape[1]",
    "196": "zoo.vgg16().by_name['conv5_1'].shape[1] ** 2",
    "13": "-(-196 // 16)",
    "16": "formats.find('fp32').lanes(512)",
    "512": "zoo.vgg16().by_name['conv5_1'].shape[0]",
    "1024": "formats.find('fp32').bits * 32",
    "64": "formats.find('fp16').lanes(1024)",
    "12": "13 * 16 - 196",
    "7": "((512*512*9 + 2*512*196) / (512*512*9 / 16 + 2*512*196))",
    "90": "2 * 512*512*9 * 196 / (4 * (512*512*9 + 2*512*196))",
}
