# %% [markdown]
# # 04 Lowering on CUDA: which value should a thread's neighbour have?
#
# 45 minutes. Needs: [03 Lowering](03_lowering.ipynb).
#
# You will be able to
#
# - write a GPU kernel that lowers an image, and check it,
# - count the bytes that move for the threads of a warp,
# - say how often a product loads each value, with tiles and without.
#
# Words: [GPU kernel](glossary.md), [thread](glossary.md), [warp](glossary.md),
# [global memory](glossary.md), [shared memory](glossary.md).
#
# This lesson is optional and needs no GPU: without one, Numba's simulator of a GPU runs. It says
# nothing of speed, and memlab has no recorded times of a GPU: this lesson counts bytes.

# %%
from memlab import lesson

lesson.recall("04.strips")

# %% tags=["solution"]
lesson.recall("04.strips").guess("same").reveal()

# %%
lesson.recall("04.copies")

# %% tags=["solution"]
lesson.recall("04.copies").guess(81).reveal()

# %%
import numpy as np

import memlab
from memlab import views
from memlab.kernels.cuda.conv import counted_product

views.shifted_copies("alexnet", "conv3", only=("k",))

# %% [markdown]
# This is a lowered matrix. Change **Kernel**, and follow one value of it back to the image. On a
# GPU, each value of the matrix has a worker of its own.

# %% [markdown]
# ## Which value should the neighbour have?
#
# A **GPU kernel** is one function that many **threads** run at the same time. Threads form blocks,
# and blocks form a grid. `cuda.grid` says which thread this is. This GPU kernel makes one row of
# the matrix, a shifted copy of a channel:

# %%
from numba import cuda


@cuda.jit
def shift(channel, row, ky, kx, pad):
    ox, oy = cuda.grid(2)
    iy, ix = oy + ky - pad, ox + kx - pad
    inside = 0 <= iy < channel.shape[0] and 0 <= ix < channel.shape[1]
    row[oy, ox] = channel[iy, ix] if inside else 0


row = cuda.device_array((3, 32), np.int32)
shift[(1, 3), (32, 1)](cuda.to_device(np.arange(96).reshape(3, 32)), row, 0, 2, 1)
print(row.copy_to_host()[:, :8])

# %% [markdown]
# `shift[(1, 3), (32, 1)]` starts 1·3 blocks of 32·1 threads. Every 32 threads with successive
# numbers are a **warp**: they store at the same moment. Here they store 32 values side by side. A
# loop over a window would give a thread's neighbour the next value of the same window. Then 32
# threads go down a column of the matrix. In `conv1_2` of VGG-16, values in a column are 200,704 B
# apart.
#
# Memory moves no single values. It moves whole **sectors**: 32 B, and each begins at a multiple of
# 32. Who stores 1 value moves its sector.

# %%
warp = lesson.predict("04.warp")


@warp.then
def both_orders():
    return views.warp_memory("vgg16", "conv1_2")


warp

# %% tags=["solution", "picture-warp"]
warp.guess(1, because="the same 32 values are stored").revise(32).reveal()

# %%
lesson.change("04.stride")

# %% tags=["solution"]
lesson.change("04.stride").guess("gaps").reveal()

# %% [markdown]
# ## How much does a shared tile save?
#
# The matrix is made for one product: weights times matrix. The simplest GPU kernel has a thread for
# each value of the result. It reads all that it needs from **global memory**, which is large and
# slow. Each block also has **shared memory**: small, on the chip, and every thread of the block
# reads what another one wrote there.

# %%
views.shared_tile(4, served=False)

# %%
tile = lesson.predict("04.tile")


@tile.then
def count_the_loads():
    display(views.shared_tile(4))
    for side in (1, 2, 4):
        print(f"tile {side}·{side}: each value is loaded {counted_product.loads(8, side)} times")
    print(counted_product.source())


tile

# %% tags=["solution", "picture-tile"]
tile.guess(256, because="a tile has 256 values").revise(16).reveal()

# %% [markdown]
# ## What is a tile filled from?
#
# Lesson 03 made the copy smaller, strip by strip. So far, tiles are filled from the whole matrix.

# %%
left = lesson.predict("04.left")
left

# %% tags=["solution"]
left.guess("tiles").revise("none").reveal()

# %% [markdown]
# ## Exercise: a kernel of your own
#
# **Worked.** A warp along a row of `conv1_2`. **Shapes:** 32 neighbours have one c, ky and kx, and
# one oy. **Bytes:** their loads are 4 B apart:

# %%
loads = views.warp_memory("vgg16", "conv1_2").rows.row.load.addresses
print(f"bytes {loads[0]} to {loads[-1]}: sectors {loads[0] // 32} to {loads[-1] // 32}")

# %% [markdown]
# 5 sectors of 32 B, because kx is 0: the first value lies in the sector before. **Lifetime:** a
# tile lives as long as its block, the matrix as long as its operation. **Peak:** tiles are on the
# chip, and never in the peak.
#
# **Alone.** A kernel that makes the whole matrix. The check runs it thread by thread, looks at each
# value, and counts what the stores of its first warp move:

# %%
exercise = lesson.exercise("04.lower")
exercise.show()


# %% tags=["stub"]
def lower(image, lowered, k, pad):
    n = cuda.grid(1)
    rows, columns = lowered.shape[3:]
    ox, oy = n % columns, n // columns % rows
    return None  # replace None: kx, ky and c, then store 1 value


# %% tags=["solution"]
def lower(image, lowered, k, pad):
    n = cuda.grid(1)
    rows, columns = lowered.shape[3:]
    ox, oy = n % columns, n // columns % rows
    kx = n // (columns * rows) % k
    ky = n // (columns * rows * k) % k
    c = n // (columns * rows * k * k)
    iy, ix = oy + ky - pad, ox + kx - pad
    if c < lowered.shape[0]:
        inside = 0 <= iy < image.shape[1] and 0 <= ix < image.shape[2]
        lowered[c, ky, kx, oy, ox] = image[c, iy, ix] if inside else 0


# %%
exercise.check(lower)

# %% [markdown]
# Now on the device, against memlab's kernel for the processor:

# %%
image = np.random.default_rng(0).random((2, 4, 16), np.float32)
lowered = cuda.to_device(np.zeros((2, 3, 3, 4, 16), np.float32))
cuda.jit(lower)[36, 32](cuda.to_device(image), lowered, 3, 1)
due = memlab.kernels.im2col(image[None], 3, pad=1)
print("equal:", np.array_equal(lowered.copy_to_host().ravel(), due.ravel()))

# %% [markdown]
# ## What this lesson leaves out
#
# - Time. On a machine with a GPU, `make gpu` measures it.
# - Races. Without `cuda.syncthreads()` a GPU may read a tile that is not full. The simulator may
#   never show that.
# - The compiler. It refuses code that the simulator runs.
# - Caches. The count is of one warp. Another warp may find its values in a cache.

# %% [markdown]
# ## The case so far

# %%
lesson.predict("04.case")

# %% tags=["solution"]
lesson.predict("04.case").guess("neither").revise("time").reveal()

# %% [markdown]
# ## Key points
#
# - A thread finds its value by its number in the grid.
# - Memory moves in sectors of 32 B. Neighbouring threads should have neighbouring values.
# - A tile of T·T values in shared memory divides the loads by T.
# - A tile that is filled from the image makes the lowered copy needless.
#
# Next: [05 Mini-batch and vectors](05_vectors.ipynb). What does a larger batch buy?

# %% tags=["numbers"]
{"200,704 B": "4 * 224 * 224"}
