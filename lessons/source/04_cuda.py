# %% [markdown]
# # 04 Lowering on CUDA: which value should a thread's neighbour have?
#
# 45 minutes. Needs: [03 Lowering](03_lowering.ipynb).
#
# You will be able to
#
# - write a GPU kernel that lowers an image, and check it,
# - count the bytes that move for the threads of a warp, in any order,
# - say what a tile in shared memory saves, and convolve on a GPU without a lowered copy.
#
# Words: [GPU kernel](glossary.md), [thread](glossary.md), [warp](glossary.md),
# [sector](glossary.md), [coalesced access](glossary.md), [global memory](glossary.md),
# [shared memory](glossary.md), [implicit GEMM](glossary.md).
#
# This lesson is optional, and needs no GPU: without one, Numba's simulator of a GPU runs.

# %% tags=["nbval-ignore-output"]
from time import perf_counter

import numpy as np

import memlab
from memlab import lesson, views
from memlab.bench import timing
from memlab.kernels.cuda import im2col, target

device = target().name  # a GPU, or Numba's simulator of one
from numba import cuda

start = perf_counter()
im2col(cuda.to_device(np.zeros((1, 2, 3, 32), np.float32)), 3, pad=1).copy_to_host()
print(f"lowered on {device} in {perf_counter() - start:.2f} s; {timing.machine()}")

# %% [markdown]
# A small image has been lowered, on a GPU or in the simulator of one.

# %% [markdown]
# ## A thread finds its value by its place in a grid
#
# On a processor, loops go through the lowered matrix. On a GPU a **kernel** is one function that
# many threads run at the same time, and here each thread lowers 1 value. Its place in a grid says
# which: (ox | oy | row of the matrix). The index map is that of lesson 03. At stride 1:
#
# `lowered[c, ky, kx, oy, ox] = image[c, oy + ky - pad, ox + kx - pad]`

# %%
thread = lesson.predict("04.thread")
thread

# %% tags=["solution"]
thread.guess("848 B").reveal()

# %% [markdown]
# A kernel of your own, for an image whose values say at which byte they stand:


# %%
@cuda.jit
def lower(image, lowered, k, pad):
    ox, oy, row = cuda.grid(3)
    c, ky, kx = row // (k * k), row // k % k, row % k
    iy, ix = oy + ky - pad, ox + kx - pad
    inside = 0 <= iy < image.shape[1] and 0 <= ix < image.shape[2]
    lowered[row, oy, ox] = image[c, iy, ix] if inside else 0


# %% [markdown]
# It starts with a grid of 1·3·18 blocks, and 32 threads in each. Is it right? The kernel of the
# processor is asked.

# %%
image = np.arange(0, 4 * 2 * 3 * 32, 4, dtype=np.float32).reshape(2, 3, 32)
made = cuda.device_array((18, 3, 32), np.float32)
lower[(1, 3, 18), (32, 1, 1)](cuda.to_device(image), made, 3, 1)
mine, theirs = made.copy_to_host(), memlab.kernels.im2col(image[None], 3, pad=1)
print("equal:", np.array_equal(mine.reshape(18, -1), theirs[0]))
if thread.answered():
    print(f"row 15, oy 1, ox 20 reads byte {mine[15, 1, 20]:.0f}")

# %% [markdown]
# **Change it.** In `lower`, exchange `ky` and `kx` where `iy` and `ix` are made. Which rows of the
# matrix stay right?

# %% [markdown] tags=["solution"]
# **Answer.** Those whose ky and kx are equal: 3 of the 9 of each channel.

# %% [markdown]
# ## The order of the threads decides how many bytes move
#
# The 32 threads of a **warp** load together and store together. Memory does not move single
# values. It moves **sectors** of 32 B, and 4 of them make a line of 128 B. As many sectors move as
# hold a value of the warp (CUDA C++ Best Practices Guide, on coalesced access, for compute
# capability 6 and later).
#
# Above, the neighbour of a thread has the next ox. A loop over a window would give it the next kx,
# then ky, then c. Neighbours then go down a column of the matrix. In `conv1_2` of VGG-16, which
# has 224·224 places, the values of a column are this far apart:

# %%
warp = lesson.predict("04.warp")
warp

# %% tags=["solution"]
warp.guess("128 B").reveal()

# %% [markdown]
# The loads and the stores of one warp, in both orders. A row of boxes is a line of memory:

# %%
if warp.answered():
    display(views.warp_memory("vgg16", "conv1_2"))

# %% [markdown]
# Down a column, the loads need fewer sectors than the stores: the values of a window stand beside
# each other in the image, 3 by 3. Along a row, each sector of the stores is full: this access is
# **coalesced**. The loads begin 1 value before a sector, because kx is 0, and so a 5th sector
# moves. `memlab.kernels.cuda.im2col` has this order.
#
# **Change it.** Set **Stride** to 2. Which side pays along a row, and how much? Then set **Warp**
# to 0. Why does it load nothing along a row?

# %% [markdown] tags=["solution"]
# **Answer.** The loads: every second value is used, and 288 B move for 128 B. Warp 0 has ky 0 and
# oy 0: it reads the row above the image, which is padding.

# %% [markdown]
# The simulator says nothing of time. On a machine with a GPU, `make gpu` measures how near this
# order comes to a fill of the same bytes, and keeps the figures; they stand here where there are
# any.

# %%
from memlab.bench import recorded

found = recorded.latest()
print(found.where if found else recorded.text(found))
for line in found.result.lines if found else ():
    if "coalesced against" in line.name:
        print(line)

# %% [markdown]
# ## A tile is loaded once for a whole block
#
# The lowered matrix is made for one product. Again each value of the result has its own thread,
# which loads a row of the weights and a column of the matrix. These loads go to **global memory**,
# which is large and slow. **Shared memory** is small and stands on the chip, and all threads of a
# block can read what one of them wrote there.

# %%
tile = lesson.predict("04.tile")
tile

# %% tags=["solution"]
tile.guess(256).reveal()

# %% [markdown]
# Both kernels, and both count: each load of `b` adds 1 to its place in `loads`.


# %%
@cuda.jit
def alone(a, b, out, loads):
    j, i = cuda.grid(2)
    total = 0.0
    for r in range(a.shape[1]):
        cuda.atomic.add(loads, (r, j), 1)
        total += a[i, r] * b[r, j]
    out[i, j] = total


T = 4


# %%
@cuda.jit
def tiled(a, b, out, loads):
    j, i = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    a_tile = cuda.shared.array((T, T), a.dtype)
    b_tile = cuda.shared.array((T, T), a.dtype)
    total = 0.0
    for r in range(0, a.shape[1], T):
        a_tile[y, x], b_tile[y, x] = a[i, r + x], b[r + y, j]
        cuda.atomic.add(loads, (r + y, j), 1)
        cuda.syncthreads()  # now the tiles are full
        for q in range(T):
            total += a_tile[y, q] * b_tile[q, x]
        cuda.syncthreads()  # now nobody needs them any more
    out[i, j] = total


# %%
a, b = np.random.default_rng(0).random((2, 16, 16), np.float32)
for name, kernel in {"alone": alone, "tiled": tiled}.items() if tile.answered() else ():
    out = cuda.device_array((16, 16), np.float32)
    loads = cuda.to_device(np.zeros((16, 16), np.int32))
    kernel[(16 // T, 16 // T), (T, T)](cuda.to_device(a), cuda.to_device(b), out, loads)
    right, counts = np.allclose(out.copy_to_host(), a @ b), np.unique(loads.copy_to_host())
    print(f"{name}: right {right}, loads of each value of b {counts}")

# %% [markdown]
# A value of `b` is needed by all 16 rows of the result. A block makes T of them, and loads it
# once. `cuda.syncthreads()` waits for all threads of the block.
#
# **Change it.** Set `T` to 8 and run from there. How often is a value loaded now? And how many
# bytes do the 2 tiles of a block take?

# %% [markdown] tags=["solution"]
# **Answer.** 2 times. The tiles take 2·8·8·4 B = 512 B, which is 4 times as much as before.

# %% [markdown]
# The tile is filled from the lowered matrix. Must that be in memory at all? Whoever fills a place
# of the tile knows its c, ky, kx, oy and ox, and so its value of the image. It can be read there.
# This is **implicit GEMM**: the k² copies exist tile by tile, in shared memory alone.

# %%
net = memlab.network("small", image=(3, 8, 8)).conv(4, 3, pad="same").relu()
net = net.max_pool("all").flatten().linear(10).cross_entropy()
for way in ("im2col-image", "implicit-gemm"):
    done = memlab.run(memlab.inference_step(net, algorithm=way), batch=2, device="cuda")
    found = sum(e.size.at(2) for e in done.measured.entries if e.role == "workspace")
    print(f"{way:13}  workspace {found:,} B, peak {done.peak:,} B, residual {done.residual} B")

# %% [markdown]
# ## Exercise: from a thread to the bytes of its warp
#
# **Worked.** A warp along a row of `conv1_2`. **Shapes:** 32 neighbours have one c, ky and kx, and
# one oy. **Bytes:** its loads are 4 B apart, from the sector of the first one to that of the last:

# %%
loads = views.warp_memory("vgg16", "conv1_2").rows.row.load.addresses
print(f"bytes {loads[0]} to {loads[-1]}: sectors {loads[0] // 32} to {loads[-1] // 32}")

# %% [markdown]
# 5 sectors of 32 B. **Lifetime:** tiles live as long as their block, the lowered copy as long as
# its operation. **Peak:** without that copy it has no workspace, and tiles are not in this memory.
#
# **With blanks.** From the number of a thread to its value:

# %%
exercise = lesson.exercise("04.place")
exercise.show()


# %% tags=["stub"]
def place(n, k, rows, columns):
    ox = n % columns
    oy = n // columns % ...
    kx = n // (columns * rows) % ...
    return None  # replace None: c, ky, kx, oy, ox


# %% tags=["solution"]
def place(n, k, rows, columns):
    ox = n % columns
    oy = n // columns % rows
    kx = n // (columns * rows) % k
    ky = n // (columns * rows * k) % k
    c = n // (columns * rows * k * k)
    return c, ky, kx, oy, ox


# %%
exercise.check(place)

# %% [markdown]
# **Alone.** From the addresses of a warp to the bytes that move:

# %%
exercise = lesson.exercise("04.moved")
exercise.show()


# %% tags=["stub"]
def moved(addresses):
    return None  # replace None


# %% tags=["solution"]
def moved(addresses):
    return 32 * len({address // 32 for address in addresses})


# %%
exercise.check(moved)

# %% [markdown]
# Your function counts what the pictures above show, and another layer:

# %%
for layer in ("conv1_2", "conv5_1"):
    for order, rows in views.warp_memory("vgg16", layer).rows.orders.items():
        print(layer, order, moved(rows.load.addresses), moved(rows.store.addresses))

# %% [markdown]
# ## What this simulator leaves out
#
# - Time. It is Python, and says nothing of a GPU's speed.
# - Races. Without `cuda.syncthreads()` a GPU may read a tile that is not full; here that may never
#   show.
# - The compiler: it refuses code that the simulator runs.
# - Caches. The count is of one warp. The rest of its sectors is for other warps, and a cache may
#   still hold it when they come.

# %% [markdown]
# ## Key points
#
# - The index map is the same on a GPU. A thread finds its value by its place in the grid.
# - Memory moves in sectors of 32 B. Neighbouring threads should have neighbouring values.
# - A T·T tile in shared memory divides the loads by T.
# - Filled from the image, it makes the lowered copy needless: the same bytes planned and measured,
#   and no workspace.
#
# Back to [03 Lowering](03_lowering.ipynb).

# %% tags=["numbers"]
{
    "288 B": "memlab.views.warp_memory(stride=2).rows.row.load.moved",
    "512 B": "2 * 8 * 8 * 4",
}
