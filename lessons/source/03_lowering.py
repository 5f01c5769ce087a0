# %% [markdown]
# # 03 Lowering: why does a 3x3 convolution need nine times its input, and must it?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).
#
# You will be able to
#
# - say what lowering writes for any convolution, and point at every copy,
# - work out its bytes on paper, for a layer and for a network,
# - say what the copy is for, and measure ways that make less of it.
#
# Words: [lowering (im2col)](glossary.md), [matrix product](glossary.md), [stride](glossary.md),
# [same padding](glossary.md), [tile](glossary.md),
# [cache](glossary.md), [offset table](glossary.md).

# %% [markdown]
# Two questions about the lesson before:

# %%
from memlab import lesson

lesson.recall("03.part")

# %% tags=["solution"]
lesson.recall("03.part").guess("mountain").reveal()

# %%
lesson.recall("03.inside")

# %% tags=["solution"]
lesson.recall("03.inside").guess("gradient_map").reveal()

# %% [markdown]
# To compute one output value, a convolution needs the values in its window, here 3·3. Lowering
# (im2col) writes each window as a column of a matrix. Read the matrix by rows: one row is the whole
# picture, shifted.
#
# Move **Copies written**, one step at a time. Then click a pixel: in how many copies is it?

# %%
from memlab import units, views

views.shifted_copies("vgg16", "conv3_2", step=1, only=("step",))

# %% [markdown]
# ## How large does the copy become?
#
# A real layer has many channels, and each is copied like this.

# %%
kernels = lesson.predict("03.kernels")
kernels

# %% tags=["solution"]
kernels.guess("twice", because="each kernel needs its windows").revise("same").reveal()

# %% [markdown]
# The stride is how far the window moves:

# %%
stride = lesson.predict("03.stride")


@stride.then
def thinned():
    return views.shifted_copies("vgg16", "conv1_2", stride=2, only=("k", "stride"))


stride

# %% tags=["solution", "picture-stride"]
stride.guess(9, because="still 9 places in the window").revise("2.25").reveal()

# %%
lesson.change("03.pointwise")

# %% tags=["solution"]
lesson.change("03.pointwise").guess("nothing").reveal()

# %% [markdown]
# ## What does it come to in a whole network?

# %%
whole = lesson.predict("03.whole")


@whole.then
def all_layers():
    return views.shifted_copies("resnet50", "1.1.conv1", only=("batch",))


whole

# %% tags=["solution", "picture-whole"]
whole.guess(9).revise("2").reveal()

# %% [markdown]
# ## Must the whole copy be there?
#
# Lowering, in Numba. Each `lowered[c, ky, kx]` is one channel of the padded image, shifted. Those
# of all channels lie below each other:

# %%
import numpy as np
from numba import njit


@njit
def im2col(image, k):
    channels, rows, columns = image.shape[0], image.shape[1] - k + 1, image.shape[2] - k + 1
    lowered = np.empty((channels, k, k, rows, columns), image.dtype)
    for c in range(channels):
        for ky in range(k):
            for kx in range(k):
                lowered[c, ky, kx] = image[c, ky : ky + rows, kx : kx + columns]
    return lowered.reshape(channels * k * k, rows * columns)


# %% [markdown]
# By definition, `y[o, i, j]` is the sum of `w[o, c, ky, kx] · image[c, i + ky, j + kx]` over all c,
# ky, kx. `direct` is these loops. With the copy, **one product** gives all sums. Whole numbers are
# not rounded:

# %%
import memlab

drawn = np.random.default_rng(0)
image = np.float32(drawn.integers(-9, 10, (64, 56, 56)))
w = np.float32(drawn.integers(-9, 10, (64, 64, 3, 3)))
product = w.reshape(64, -1) @ im2col(np.pad(image, ((0, 0), (1, 1), (1, 1))), 3)

layer = memlab.network("one layer", image=image.shape).conv(64, 3, pad=1, bias=False, name="conv")
step = memlab.inference_step(layer.squared_error(), algorithm="direct")
direct = memlab.run(step, batch=1, x=image[None], parameters={"conv.weight": w}).output
print(product.shape, "largest difference:", abs(product - direct.reshape(64, -1)).max())

# %% [markdown]
# The product can be computed in parts: one tile of output places after the other.<sup>G4</sup>

# %%
tile = lesson.predict("03.tile")


@tile.then
def five_ways():
    ways = ("direct", "im2col-batch", "im2col-image", "im2col-tile", "offsets")
    times = views.algorithm_times("resnet50", "1.1.conv2", 8, ways, progress=False)
    return times.curve()


tile

# %% tags=["solution", "nbval-ignore-output", "recorded-tile"]
tile.guess("fewer").revise("same").reveal()

# %% [markdown]
# Some ten seconds. Go along the curve from much workspace to little: does the time fall too? A
# text says: direct convolution is slow, so it is lowered.<sup>A14</sup> Which point does it mean,
# and which other one copies nothing?
#
# More: [what frameworks lower](appendix/lowering_elsewhere.ipynb),
# [is more workspace faster?](appendix/workspace.ipynb)

# %% [markdown]
# ## Exercise: how many bytes does a lowered copy take?
#
# **Worked.** `conv1_2`, 1 image at a time. **Shapes:** a window has 64·3·3 values, and there are
# 224·224 windows. **Bytes:** 4 for each value. **Lifetime:** inside 1 operation, and every image
# uses the same buffer. **Peak:** this buffer counts if the peak is in this operation.
# [In backward](appendix/col2im.ipynb) it holds the copy, then the copy's gradient, which **col2im**
# adds back to the pixels.

# %%
print(units.short(4 * 64 * 3 * 3 * 224 * 224))

# %% [markdown]
# **With blanks.** Any layer, the whole batch at once:

# %%
exercise = lesson.exercise("03.lowered_bytes")
exercise.show()


# %% tags=["stub"]
def lowered_bytes(batch, channels, size, k, stride, pad):
    rows = ...  # at how many places does a window of k stop?
    return None  # replace None


# %% tags=["solution"]
def lowered_bytes(batch, channels, size, k, stride, pad):
    rows = (size + 2 * pad - k) // stride + 1
    return 4 * batch * channels * k * k * rows * rows


# %%
exercise.check(lowered_bytes)

# %% [markdown]
# ## What this lesson leaves out
#
# - Times are of 1 thread on your processor. Lesson 04 is about GPUs.
# - The matrix product packs its operands into buffers of its own, which are not planned.
# - Other algorithms trade workspace for fewer multiplications: Winograd,<sup>G5</sup> Fourier
#   transforms.<sup>G7</sup>
#
# Sources: A14, G4, G5, G7.

# %% [markdown]
# ## The case so far

# %%
lesson.predict("03.case")

# %% tags=["solution"]
lesson.predict("03.case").guess("copy").revise("same").reveal()

# %% [markdown]
# ## Key points
#
# - Lowering writes k² copies of the input, each 1/s² of it with same padding. 1·1 with stride 1
#   writes none.
# - Lowered bytes are B·C·k²·Ho·Wo·4. They are workspace: they live in 1 operation, and the largest
#   one counts.
# - The copy exists for one large matrix product. A tile or an offset table computes the same with a
#   part of the bytes.
# - So must it? No. Measure time and workspace before you choose.
#
# Next: [04 Lowering on CUDA](04_cuda.ipynb), a side road: the same map, one thread for each value.
# Or go on with [05 Mini-batch and vectors](05_vectors.ipynb).
