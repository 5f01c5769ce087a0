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
# A text (J. Hanlon, Graphcore, 2017) says that a mini-batch needs so many samples (A5, A6):
#
# 1. A processor computes with vectors of 1024 bits.
# 2. A number has 32 bits, so it computes 32 numbers at once.
# 3. Each sample brings 1 number, so 32 samples are needed.
# 4. With 16 bits, 64 are needed. Half the bytes, twice the samples: half precision saves nothing.
#
# The arithmetic above is right. Which links hold?

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
# Now your processor. It takes some seconds:

# %% tags=["nbval-ignore-output"]
if lanes.answered():
    display(views.vector_lanes(progress=False))

# %% [markdown]
# Up to the ring, twice the lanes bring twice the operations. So link 2 holds for a vector of that
# width: lanes are bits divided by bits. A wider one in code becomes several.
#
# Link 1: which width has yours? A **register** keeps a vector (ymm: 256 bits, zmm: 512). From here
# on, lanes are those of a register. Other widths:

# %%
for bits in (128, 256, 512, 1024) if lanes.answered() else ():
    held = (f"{name} {formats.find(name).lanes(bits)}" for name in ("fp64", "fp32", "fp16", "int8"))
    print(f"{bits} bits:", ", ".join(held))

# %% [markdown]
# Most processors of laptops and servers have 128, 256 or 512 bits. A GPU is called 1024 bits wide
# when the 32 threads of a warp, which run together, are counted with 32 bits each. Who counts so
# has put the 32 in.
#
# **Change it.** Time another format: `views.vector_lanes("fp64", progress=False)`. Where is the
# ring? On a processor of Intel or AMD, give it an older target too: `target="sse2"`.

# %% [markdown] tags=["solution"]
# **Answer.** At half as many lanes: a value has twice the bits. With the older target it is at 2
# lanes, 128 bits: the code is for an older processor.

# %% [markdown]
# These loops read nothing from memory. Others do. Write down: how many times as many values of int8
# as of fp64 are read per second? Then run:

# %% tags=["nbval-ignore-output"]
memory = views.memory_rate(progress=False)
memory

# %% [markdown]
# So fewer bits help in two ways: more lanes in a vector, and more values from the same bytes.

# %% [markdown]
# ## A convolution fills its lanes from pixels
#
# Link 3. In a linear layer each sample is a column of one matrix product. Fill lanes from columns,
# and 1 sample fills 1 lane. A lowered convolution has a column for each output place of each
# sample: B·Ho·Wo.

# %%
columns = lesson.predict("05.columns")
columns

# %% tags=["solution"]
columns.guess(1).reveal()

# %% [markdown]
# Now fill the vectors of the text, of 1024 bits. A cell is a lane, and below is what the batch
# costs:

# %%
if columns.answered():
    display(views.vectors("resnet50", batch=1))

# %% [markdown]
# Link 3 holds for the linear layer only, if its lanes are filled from samples. They can be filled
# from output channels as well: choose them under **More**.
#
# **Change it.** Move the batch until the linear layer has no idle lane. What do the feature maps
# take then? How many lanes of the convolution were idle at batch 8?

# %% [markdown] tags=["solution"]
# **Answer.** 2.56 GB at batch 32, from 80.3 MB at batch 1. Only 6 % were idle at batch 8: the
# convolution had little to gain.

# %% [markdown]
# And the time? The same convolution, in 3 ways. **Lanes from samples**: samples are neighbours in
# memory. **Lanes from pixels**: places of one picture are. **Plain loop, 1 lane**: a loop over
# samples, and no vector. Sketch time per sample against the batch for each. Then run (about 15
# seconds). Each curve has its own 1 x: its least time.

# %% tags=["nbval-ignore-output"]
if columns.answered():
    display(views.batch_times(("samples", "pixels", "one-lane"), progress=False))

# %% [markdown]
# Lanes from samples need a batch as wide as the vector. Lanes from pixels are nearly full at batch
# 1, and the time per sample stays.
#
# The third curve falls too, for other reasons than lanes: more samples share the work around the
# loop. So a curve that falls is no evidence for lanes.

# %% [markdown]
# ## Twice the batch is a choice, and a batch buys weight reuse
#
# Link 4: what if nobody doubles the batch?

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
# 2 · 1/2 = 1 is correct, but it is not a law: nobody must double the batch. And even twice the
# batch saves: fp16 holds twice the samples in the same bytes.
#
# **Change it.** In the view of the vectors, press **Surprising**. Then take 32 images. What do the
# feature maps take?

# %% [markdown] tags=["solution"]
# **Answer.** 2.57 GB, and 1.28 GB with 32 images.

# %% [markdown]
# For the memory of maps, batch 1 is best (lesson 02). For weights it is not:

# %%
weights = lesson.predict("05.weights")
weights

# %% tags=["solution"]
weights.guess("67.1 MB").reveal()

# %% [markdown]
# For each weight that is read, B samples bring 2·B operations. This is **weight reuse**, and
# operations per byte read are the **arithmetic intensity**. The layer, measured:

# %% tags=["nbval-ignore-output"]
if weights.answered():
    layer = views.batch_times(("linear-4096",), progress=False)
    display(layer)
    curve = layer.measured.curves[0]
    for batch in (1, 8, 128):
        print(f"batch {batch}: 1 call takes {1000 * batch * curve.at(batch):.1f} ms")
    rate = max(each.bandwidth for each in memory.measured.rates)
    print(f"reading its weights alone: {1000 * curve.weights / rate:.1f} ms")

# %% [markdown]
# Does a call at batch 8 take hardly longer than at batch 1? Then most of it is done once per call:
# the product routine reads the weights, and arranges them. A larger batch shares all of it. The
# curve still falls after the lanes are full: nothing here asks for 32.
#
# **Change it.** Add `"pixels"` to the ways of the last cell. Why does its time per sample stay?

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
# With at most 1 lane in 10 idle, which batch do all convolutions of ResNet-50 need, and which its
# linear layer, with lanes from samples?

# %%
places = [n.shape[1] * n.shape[2] for n in resnet.nodes if n.kind == "conv2d"]
for count in (4, 8, 16, 32, 64) if smallest_batch(4, 10, [1]) else ():
    both = smallest_batch(count, 10, places), smallest_batch(count, 10, [1])
    print(f"{count:2} lanes: convolutions at batch {both[0]}, linear layer at batch {both[1]}")

# %% [markdown]
# At 32 and 64 lanes, convolutions need batch 3 and 5, not 32 and 64. The text's rule fits the
# linear layer only: 29 and 58.
#
# ## What this lesson leaves out
#
# - A GPU has many more lanes than a warp. Columns of all places fill them.
# - The batch changes what is learned, and how fast.
# - Fewer bits round more: lesson 06.

# %% [markdown]
# ## Key points
#
# - Lanes are the bits of a vector divided by the bits of a value.
# - A linear layer gives B columns to the lanes, a lowered convolution B·Ho·Wo.
# - At the same batch, half of the bits are half of the bytes.
# - For most convolutions a larger batch buys no lanes: 1 picture is enough. It buys weight reuse:
#   2·B operations for each weight that is read.
#
# **Verdict on the text:** its arithmetic is right, its premise is false for convolutions, its
# conclusion is a choice.
#
# Next: [06 Precision](06_precision.ipynb). What do fewer bits save, and what do they cost?

# %% tags=["numbers"]
{
    "14": "zoo.vgg16().by_name['conv5_1'].shape[1]",
    "2.56 GB": "memlab.views.vectors('resnet50', 32).rows.nbytes / 1e9",
    "2.57 GB": "memlab.views.vectors('resnet50', 64, format='fp16').rows.nbytes / 1e9",
    "1.28 GB": "memlab.views.vectors('resnet50', 32, format='fp16').rows.nbytes / 1e9",
}
