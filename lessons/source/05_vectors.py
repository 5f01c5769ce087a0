# %% [markdown]
# # 05 Mini-batch and vectors: why 32 samples, and what does a wider vector buy?
#
# 45 minutes. Needs: [03 Lowering](03_lowering.ipynb).
#
# You will be able to
#
# - say how many values of a format a vector holds, and measure the width of your machine,
# - count the columns that a layer gives to the lanes of a vector, at any batch,
# - say what a larger batch buys, and what it does not,
# - take an argument apart into its links, and test each.
#
# Words: [vector](glossary.md), [lane](glossary.md), [SIMD](glossary.md),
# [mini-batch](glossary.md), [lowering (im2col)](glossary.md), [warp](glossary.md),
# [weight reuse](glossary.md), [arithmetic intensity](glossary.md).

# %%
from memlab import counting, formats, lesson, units, views, zoo

resnet, fp32 = zoo.resnet50(), formats.find("fp32")
values = counting.find("conv-sums").values(resnet)  # outputs of convolutions and sums
samples = fp32.lanes(1024)
print(f"{samples} samples: {units.both(samples * fp32.nbytes(values))}")

# %% [markdown]
# A text says that a mini-batch must have so many samples (A5, A6):
#
# 1. A processor computes with vectors of 1024 bits.
# 2. A number has 32 bits, so it computes 32 numbers at once.
# 3. Each sample brings 1 number, so 32 samples are needed.
# 4. With 16 bits, 64 are needed. Half the bytes, twice the samples: half precision saves nothing.
#
# The cell above has its arithmetic, and the arithmetic is right. Which links hold? Test each.

# %% [markdown]
# ## A vector has as many lanes as its bits hold values
#
# A **vector** is a row of values that one instruction computes together. Each value has its
# **lane**. Such instructions are called **SIMD**: single instruction, multiple data. Wider vectors
# can be written in code. Does the processor follow?

# %%
lanes = lesson.predict("05.lanes")
lanes

# %% tags=["solution"]
lanes.guess(32).reveal()

# %% [markdown]
# Now your processor, in 4 number formats; bf16 has 16 bits. It takes about 10 seconds:

# %% tags=["nbval-ignore-output"]
if lanes.answered():
    display(views.vector_lanes(progress=False))

# %% [markdown]
# Up to the ring, twice the lanes bring twice the operations. So link 2 holds for a vector of that
# width: lanes are bits divided by bits. A wider one in code becomes several. Under the
# curves stands which width the compiler takes for an ordinary loop.
#
# Link 1 is a matter of the machine. Which width has yours? Lanes for others:

# %%
for bits in (128, 256, 512, 1024) if lanes.answered() else ():
    held = (f"{name} {formats.find(name).lanes(bits)}" for name in ("fp64", "fp32", "fp16", "int8"))
    print(f"{bits} bits:", ", ".join(held))

# %% [markdown]
# Processors of today have vectors of 128, 256 or 512 bits. And 1024? A warp of a GPU has 32
# threads, and each computes a value of 32 bits: 32·32 = 1024. Divide by 32 bits, and the 32 threads
# come out. The 32 was put in.
#
# **Change it.** On a processor of Intel or AMD, give the curves an older target:
# `views.vector_lanes(target="sse2", progress=False)`. Where is the ring of fp32 now?

# %% [markdown] tags=["solution"]
# **Answer.** At 4 lanes. The code is made for older processors, whose vectors have 128 bits.

# %% [markdown]
# These loops read nothing from memory. Other loops do. A value of int8 has an eighth of the bytes
# of fp64. Write down: how many times as many int8 values are read per second? Then run this:

# %% tags=["nbval-ignore-output"]
views.memory_rate(progress=False)

# %% [markdown]
# Nearly the same bytes per second in each format. So fewer bits buy twice: more lanes in a vector,
# and more values from the same bytes.

# %% [markdown]
# ## A convolution fills its lanes from pixels
#
# Link 3. In a linear layer each sample is a column of one matrix product, and 1 sample fills
# 1 lane. A lowered convolution has a column for each output place of each sample: B·Ho·Wo.

# %%
columns = lesson.predict("05.columns")
columns

# %% tags=["solution"]
columns.guess(1).reveal()

# %% [markdown]
# All layers at batch 1, and a vector of 32 lanes, as in the text:

# %%
if columns.answered():
    display(views.lane_columns("resnet50", batch=1, lanes=32))

# %% [markdown]
# Link 3 holds for the linear layer alone. **Change it.** Set `lanes` to 64, for 16 bits. How many
# convolutions have fewer columns than lanes? Which batch gives all of them enough?

# %% [markdown] tags=["solution"]
# **Answer.** 10 of the 53: they have 49 columns. Batch 2 is enough, with 98 columns.

# %% [markdown]
# Columns are counted. Is time like that? The same convolution, in 3 ways. **Lanes from samples**:
# samples are neighbours in memory, as the text thinks of them. **Lanes from pixels**: places of one
# picture are neighbours. **Plain loop, 1 lane**: a loop over samples, and no vector at all. Sketch
# time per sample against the batch for each. Then run:

# %% tags=["nbval-ignore-output"]
if columns.answered():
    display(views.batch_times(("samples", "pixels", "one-lane"), progress=False))

# %% [markdown]
# Lanes from samples need a batch as wide as the vector: until then some lanes idle. Lanes from
# pixels are full at batch 1, and the time per sample stays.
#
# The third curve falls too, and fills no vector: more samples share the work around the loop. So a
# curve that falls is no evidence for lanes.

# %% [markdown]
# ## Twice the batch is a choice, and a batch buys weight reuse
#
# Link 4: fp16 needs twice the batch, so it saves nothing. What if nobody doubles the batch?

# %%
halved = lesson.predict("05.halved")
halved

# %% tags=["solution"]
halved.guess("2.062 GB").reveal()

# %%
for name, batch in (("fp32", 32), ("fp16", 64), ("fp16", 32)) if halved.answered() else ():
    nbytes = formats.find(name).nbytes(values * batch)
    print(f"{name}, batch {batch}: {units.both(nbytes)}")

# %% [markdown]
# 2 · 1/2 = 1 is right, and no law: the 2 is a choice.
#
# Is batch 1 as good as any, then? For the memory of maps it is the best (lesson 02). For the
# weights it is not:

# %%
weights = lesson.predict("05.weights")
weights

# %% tags=["solution"]
weights.guess("67.1 MB").reveal()

# %% [markdown]
# For each weight that is read, B samples bring 2·B operations. This is **weight reuse**, and
# operations per byte read are the **arithmetic intensity**. The same layer, measured:

# %% tags=["nbval-ignore-output"]
if weights.answered():
    display(views.batch_times(("linear-4096",), progress=False))

# %% [markdown]
# At a small batch the time goes into moving weights, and a larger batch shares them. Nothing in
# this is a lane, and nothing asks for 32. A lowered convolution uses each weight B·Ho·Wo times: its
# pixels share it at batch 1.
#
# **Change it.** Add `"pixels"` to the ways of the last cell. This convolution reads weights too.
# Why does its time per sample stay?

# %% [markdown] tags=["solution"]
# **Answer.** Its map has 14·14 places. At batch 1 each weight is used 196 times already.

# %% [markdown]
# ## Exercise: which batch fills the lanes
#
# **Worked.** `conv5_1` of VGG-16 at batch 1, on vectors of 16 fp32 lanes. **Shapes:** the lowered
# matrix has 512·3·3 rows and 14·14 = 196 columns. A row needs 13 vectors, and 12 lanes of the last
# one stay idle. **Bytes:** 4 for each value, idle lanes take none. **Lifetime:** the matrix lives
# inside 1 operation. **Peak:** it counts if the peak is in this operation.

# %%
print(units.both(4 * 512 * 3 * 3 * 196), "and", 13 * 16 - 196, "idle lanes")

# %% [markdown]
# **With blanks.** Any convolution, any batch, any vector:

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
# **Alone.** How small may the batch be, if some lanes may idle?

# %%
exercise = lesson.exercise("05.smallest_batch")
exercise.show()


# %% tags=["stub"]
def smallest_batch(lanes, percent, places):
    return None  # replace None


# %% tags=["solution"]
def smallest_batch(lanes, percent, places):
    batch = 1
    while True:
        room = [-(-batch * each // lanes) * lanes for each in places]
        pairs = zip(room, places, strict=True)
        if all(100 * (r - batch * each) <= percent * r for r, each in pairs):
            return batch
        batch += 1


# %%
exercise.check(smallest_batch)

# %% [markdown]
# Your function answers the text. With at most 1 lane in 10 idle, which batch do all convolutions of
# ResNet-50 need, and which its linear layer?

# %%
places = [n.shape[1] * n.shape[2] for n in resnet.nodes if n.kind == "conv2d"]
for count in (4, 8, 16, 32, 64):
    both = smallest_batch(count, 10, places), smallest_batch(count, 10, [1])
    print(f"{count:2} lanes: convolutions at batch {both[0]}, linear layer at batch {both[1]}")

# %% [markdown]
# ## What this lesson leaves out
#
# - Lanes can be filled from output channels too, and libraries do so. Then batch 1 is enough for a
#   linear layer as well.
# - A GPU has many more lanes than a warp. The same counting holds: columns of all places fill them.
# - The batch changes what is learned, and how fast: that is no question of bytes.
# - Fewer bits round more. Lesson 06 is about that.

# %% [markdown]
# ## Key points
#
# - Lanes are the bits of a vector divided by the bits of a value. The machine has the width it has.
# - A linear layer gives B columns to the lanes, a lowered convolution B·Ho·Wo.
# - At the same batch, half of the bits are half of the bytes.
# - A larger batch uses each weight that is read for 2·B operations. It buys time, not lanes.
#
# **Verdict on the text:** its arithmetic is right, its premise is false for convolutions, its
# conclusion is a choice.
#
# Next: [06 Precision](06_precision.ipynb). What do fewer bits save, and what do they cost?

# %% tags=["numbers"]
{
    "53": "sum(n.kind == 'conv2d' for n in zoo.resnet50().nodes)",
    "98": "2 * claims.least_columns('resnet50', batch=1)",
}
