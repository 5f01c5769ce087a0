# %% [markdown]
# # 04 Lowering on CUDA: which value should a thread's neighbour have?
#
# 45 minutes. Needs: [03 Lowering](03_lowering.ipynb).

# %%
from memlab import lesson, views
from memlab.kernels.cuda.conv import counted_product

views.warp_memory("vgg16", "conv1_2", order="row", only=("stride", "warp"))

# %% [markdown]
# On a GPU, the 32 **threads** of a warp access memory at the same moment. The memory moves whole
# sectors (framed), even if a thread needs only one value of a sector (filled). Move **Warp**: the
# slider goes through one output row for kx = 0, then kx = 1, then kx = 2. For which kx do the loads
# move more bytes? Then set **Stride** to 2: how many of the moved bytes are used?
#
# You will be able to
#
# - write a GPU kernel that lowers an image, and check it,
# - count the bytes that the memory moves for the threads of a warp,
# - calculate how often a product loads each value, with tiles and without.
#
# Words: [GPU kernel](glossary.md), [thread](glossary.md), [warp](glossary.md),
# [global memory](glossary.md), [shared memory](glossary.md).
#
# This lesson is optional, and it needs no GPU: without one, Numba simulates a GPU. The simulator
# says nothing about speed, so this lesson counts bytes.

# %%
lesson.recall("04.strips")

# %% tags=["solution"]
lesson.recall("04.strips").guess("same").reveal()

# %%
lesson.recall("04.copies")

# %% tags=["solution"]
lesson.recall("04.copies").guess(81).reveal()

# %% [markdown]
# ## Which value should the neighbour have?
#
# A **GPU kernel** is one function that many threads run at the same time. Threads form blocks, and
# blocks form a grid. `cuda.grid` returns the place of a thread in the grid. This kernel writes one
# row of the lowered matrix, which is a shifted copy of a channel:

# %%
import numpy as np
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
# numbers are a **warp**. Here the threads of a warp store 32 values side by side in a row of the
# matrix. Threads could also go through one window, as a CPU loop often does. A window is a column
# of the matrix. If thread 1 takes the second value of the window, thread 2 the third, and so on,
# the warp stores down a column. In `conv1_2` of VGG-16, neighbours in a column are 200,704 B apart.
#
# Each **sector** has 32 B and begins at a multiple of 32. Storing one value moves its whole sector.

# %%
lesson.predict("04.warp")

# %% tags=["solution", "picture-warp"]
lesson.predict("04.warp").guess(1, because="the same 32 values are stored").revise(8).reveal()

# %% [markdown]
# ## How much does a shared tile save?
#
# The matrix is made for one product: weights times matrix. The simplest GPU kernel has one thread
# for each result. Every thread loads all the values that it needs from **global memory**, which is
# large and slow. But each block also has **shared memory**, small and on the chip: what one thread
# writes there, all threads of the block can read. Move **Step**:

# %%
views.shared_tile(4, counted=False, only=("step",))

# %%
lesson.predict("04.tile")

# %% tags=["solution", "picture-tile"]
lesson.predict("04.tile").guess(16, because="a tile has 16 values").revise(4).reveal()

# %% [markdown]
# ## What is a tile filled from?
#
# This is a kernel with tiles of T·T, which counts how often it loads each value of the matrix `b`.
# Why does the block wait twice? And from where are the tiles filled?

# %%
print(counted_product.source())

# %% [markdown]
# The block waits first until both tiles are full, then until no thread needs them any more.
#
# Lesson 03 made the copy smaller, one tile at a time. Here `b` is still the whole matrix.

# %%
lesson.predict("04.left")

# %% tags=["solution"]
lesson.predict("04.left").guess("tiles").revise("none").reveal()

# %% [markdown]
# The kernel above, with tiles of 1·1, 2·2 and 4·4, counted its loads of each value:

# %%
print({T: counted_product.loads(8, T) for T in (1, 2, 4)})

# %% [markdown]
# ## Exercise: a kernel of your own
#
# **Worked.** Thread 300 of `conv1_2`. **Shapes:** the output is 224·224, so `ox = 300 % 224` is 76,
# `oy = 300 // 224` is 1, and c, ky and kx are 0. The padding is 1, so it reads row 0 and column 75.
# **Bytes:** it loads 4 B and stores 4 B. With kx = 0, the loads of its warp begin 4 B before the
# start of a sector, and with kx = 2, 4 B after it: they touch 5 sectors. With kx = 1 they touch 4.
# **Lifetime:** a tile lives as long as its block, and the matrix as long as its operation.
# **Peak:** tiles are on the chip, so they never count for the peak.
#
# **Alone.** Write a kernel that makes the whole matrix. The check runs it thread by thread,
# compares each value, and counts the bytes that the stores of the first warp move:

# %%
exercise = lesson.exercise("04.lower")
exercise.show()


# %% tags=["stub"]
def lower(image, lowered, k, pad):
    n = cuda.grid(1)
    rows, columns = lowered.shape[3:]
    ox, oy = n % columns, n // columns % rows
    return None  # replace None: find kx, ky and c, then store 1 value


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
# Now run it on the device, and compare it with memlab's kernel for the processor:

# %%
import memlab

image = np.random.default_rng(0).random((2, 4, 16), np.float32)
lowered = cuda.to_device(np.zeros((2, 3, 3, 4, 16), np.float32))
cuda.jit(lower)[36, 32](cuda.to_device(image), lowered, 3, 1)
due = memlab.kernels.im2col(image[None], 3, pad=1)
equal = np.array_equal(lowered.copy_to_host().ravel(), due.ravel())
print("equal: True" if equal else "Not equal. Complete `lower` first.")

# %% [markdown]
# ## What this lesson leaves out
#
# - Time. On a machine with a GPU, `make gpu` measures it.
# - Races. Without `cuda.syncthreads()`, threads on a GPU may read a tile that is not full yet. The
#   simulator may never show this.
# - The compiler. It refuses some code that the simulator runs.
# - Caches. The bytes are counted for one warp alone. Another warp may find its values in a cache.

# %% [markdown]
# ## The case so far

# %%
lesson.predict("04.case")

# %% tags=["solution"]
lesson.predict("04.case").guess("no").revise("sixth").reveal()

# %% [markdown]
# ## Key points
#
# - A thread finds its value by its number in the grid.
# - Memory moves bytes in sectors of 32 B. Neighbouring threads should have neighbouring values.
# - Tiles of T·T values in shared memory divide the number of loads by T.
# - If tiles are filled from the image, the lowered copy is not needed.
#
# Next: [05 Mini-batch and vectors](05_vectors.ipynb). What does a larger batch buy?

# %% tags=["numbers"]
{
    "200,704 B": "4 * 224 * 224",
    "224": "zoo.vgg16().by_name['conv1_2'].shape[1]",
    "300": "zoo.vgg16().by_name['conv1_2'].shape[1] + 76",
    "76": "300 % 224",
    "75": "300 % 224 - 1",
}
