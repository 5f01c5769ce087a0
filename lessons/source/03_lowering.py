# %% [markdown]
# # 03 Lowering: must a 3x3 convolution copy its input nine times?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).

# %%
from memlab import lesson, units, views

views.shifted_copies("vgg16", "conv3_2", step=1, free=False, only=("step",))

# %% [markdown]
# Move **Copies written** one step at a time. Then click a pixel: in how many copies is it?
#
# To compute one output value, a convolution needs all values in its window, here 3·3. Lowering
# (im2col) writes each window as a column of a matrix. Then each row of the matrix is a shifted copy
# of the picture.
#
# You will be able to
#
# - find a pixel in every copy that lowering writes,
# - calculate the bytes of the copies on paper,
# - explain what the copy is made for, and measure ways to convolve that need less memory.
#
# Words: [lowering (im2col)](glossary.md), [matrix product](glossary.md), [stride](glossary.md),
# [same padding](glossary.md), [tile](glossary.md),
# [cache](glossary.md), [offset table](glossary.md).

# %%
lesson.recall("03.part")

# %% tags=["solution"]
lesson.recall("03.part").guess("mountain").reveal()

# %%
lesson.recall("03.inside")

# %% tags=["solution"]
lesson.recall("03.inside").guess("gradient_map").reveal()

# %% [markdown]
# ## How large does the copy become?
#
# A real layer has many channels, and each channel is copied like this.

# %%
lesson.predict("03.kernels")

# %% tags=["solution"]
lesson.predict("03.kernels").guess("twice", because="each kernel needs its windows").revise(
    "same"
).reveal()

# %% [markdown]
# The stride is the number of pixels that the window moves at a time:

# %%
lesson.predict("03.stride")

# %% tags=["solution", "picture-stride"]
lesson.predict("03.stride").guess(9, because="still 9 places in the window").revise("2.25").reveal()

# %% [markdown]
# ## How much is copied in a whole network?
#
# A window of 1·1 with stride 1 needs no copy: its matrix is the input. Count this matrix too.

# %%
lesson.predict("03.whole")

# %% tags=["solution", "picture-whole"]
lesson.predict("03.whole").guess(9).revise("2").reveal()

# %% [markdown]
# ## Must the whole copy exist?
#
# Lowering in Numba: each `lowered[c, ky, kx]` is one channel of the padded image, shifted.

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
# ky and kx. `direct` runs these loops. With the copy, **one product** computes all sums:

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
# The product can also be computed in parts: one tile of output places after the other.<sup>G4</sup>

# %%
lesson.predict("03.tile")

# %% tags=["solution", "nbval-ignore-output", "recorded-tile"]
lesson.predict("03.tile").guess("fewer").revise("same").reveal()

# %% [markdown]
# In the picture, follow the line from right to left. The workspace falls. Does the time fall too? A
# text says that direct convolution is slow, so convolutions are lowered.<sup>A14</sup> It
# means `direct`. `offsets` copies nothing either, and is fast.
#
# More: [what frameworks lower](appendix/lowering_elsewhere.ipynb),
# [is more workspace faster?](appendix/workspace.ipynb)

# %% [markdown]
# ## Exercise: how many bytes does a lowered copy take?
#
# **Worked.** `conv1_2`, 1 image at a time. **Shapes:** a window has 64·3·3 values, and there are
# 224·224 windows. **Bytes:** each value takes 4 bytes. **Lifetime:** the buffer lives inside 1
# operation, and every image reuses it. **Peak:** the buffer counts if the peak is in this
# operation. More: [lowering in backward](appendix/col2im.ipynb).

# %%
print(units.short(4 * 64 * 3 * 3 * 224 * 224))

# %% [markdown]
# **With blanks.** Any layer, with the whole batch lowered at once:

# %%
exercise = lesson.exercise("03.lowered_bytes")
exercise.show()


# %% tags=["stub"]
def lowered_bytes(batch, channels, size, k, stride, pad):
    rows = ...  # in how many rows is there a window?
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
# - The times are for 1 thread of your processor.
# - The matrix product copies parts of its operands into buffers of its own. They are not planned.
# - Other algorithms use workspace to save multiplications: Winograd,<sup>G5</sup> Fourier
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
# - Lowering writes k² copies. With same padding, each is 1/s² of the input. A 1·1 window with
#   stride 1 needs no copy.
# - The copies take B·C·k²·Ho·Wo·4 bytes. They are workspace: those of a layer live in 1 operation.
# - The copies are made for one matrix product. They need not exist together, or at all: a tile or
#   an offset table gives the same result with less workspace.
#
# Next: [04 Lowering on CUDA](04_cuda.ipynb), which is optional, or
# [05 Mini-batch and vectors](05_vectors.ipynb).
