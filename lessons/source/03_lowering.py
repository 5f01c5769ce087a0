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
# [same padding](glossary.md), [workspace](glossary.md), [tile](glossary.md),
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
# A layer of VGG-16, with windows of 3·3. To compute one output value, a convolution needs the
# 9 values in its window. Lowering (im2col) writes each window as a column of a matrix. Read the
# matrix by rows: one row is the whole picture, shifted.
#
# Move **Copies written**, one step at a time. Then click a pixel: in how many copies is it?

# %%
import memlab
from memlab import units, views, zoo

views.shifted_copies("vgg16", "conv3_2", step=1, only=("step",))

# %% [markdown]
# ## How large does the copy become?
#
# The picture has 1 channel. A real layer has C of them, and each channel is copied like this.

# %%
kernels = lesson.predict("03.kernels")


@kernels.then
def one_image():
    layer = views.shifted_copies("vgg16", "conv1_2", only=("batch",))
    layer.write()
    return layer


kernels

# %% tags=["solution"]
kernels.guess("twice", because="each kernel needs its windows").revise("same").reveal()

# %% [markdown]
# At batch 128 this layer reads 1.64 GB, and its copy does not fit on a card of 12 GB. The stride is
# how far the window moves:

# %%
stride = lesson.predict("03.stride")


@stride.then
def thinned():
    return views.shifted_copies("vgg16", "conv1_2", stride=2, examples=False)


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
# What does the copy add to the peak of a training step, one image at a time, and with the whole
# batch at once?

# %%
for network in (zoo.resnet50(), zoo.vgg16()):
    for way in ("im2col-image", "im2col-batch"):
        step = memlab.training_step(network, algorithm=way)
        print(network.title, way, units.in_unit(memlab.plan(step).peak(32), "GB"))

# %% [markdown]
# In VGG-16, `conv1_2` copies 3.70 GB, more than all else that is alive then. The largest copy of
# ResNet-50 is made in `conv1`, where few other bytes are alive.

# %% [markdown]
# ## Must the whole copy be there?
#
# The matrix product can be computed in parts: one tile of output places after the
# other.<sup>G4</sup>

# %%
tile = lesson.predict("03.tile")


@tile.then
def five_ways():
    ways = ("direct", "im2col-batch", "im2col-image", "im2col-tile", "offsets")
    times = views.algorithm_times("resnet50", "1.1.conv2", 8, ways, progress=False)
    return times.curve()


tile

# %% tags=["solution", "nbval-ignore-output"]
tile.guess("fewer").revise("same").reveal()

# %% [markdown]
# The times take half a minute. Does your curve fall to the left? Then less memory took less time.
#
# Libraries for GPUs make the tiles inside the product, which cuDNN calls implicit
# GEMM.<sup>G1</sup> More: [lowering in frameworks](appendix/lowering_elsewhere.ipynb), and a text
# that says 7.5 GB.

# %% [markdown]
# ## Exercise: how many bytes does a lowered copy take?
#
# **Worked.** `conv1_2`, 1 image at a time. **Shapes:** a window has 64·3·3 values, and there are
# 224·224 windows. **Bytes:** 4 for each value. **Lifetime:** inside 1 operation, and every image
# uses the same buffer. **Peak:** this buffer counts if the peak is in this operation.

# %%
print(units.short(4 * 64 * 3 * 3 * 224 * 224))

# %% [markdown]
# **With blanks.** Any layer, the whole batch at once. At how many places does a window stop? It
# begins at 0, at the stride, at 2 strides, as long as it fits into the padded input.

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
# - The matrix product packs its operands into buffers of its own, and the plan does not have them.
# - Other algorithms trade more workspace for fewer multiplications: Winograd,<sup>G5</sup> Fourier
#   transforms.<sup>G7</sup>
#
# Sources: G1, G4, G5, G7.

# %% [markdown]
# ## The case so far
#
# ResNet-50 on a card of 12 GB: a tile in place of a copy changes its peak by little. VGG-16 would
# need it.

# %%
views.case("03")

# %% [markdown]
# ## Key points
#
# - Lowering writes k² copies of the input, each 1/s² of it with same padding. 1x1 with stride 1
#   writes none.
# - Lowered bytes are B·C·k²·Ho·Wo·4. They are workspace: they live in 1 operation, and the largest
#   one counts.
# - The copy exists for one large matrix product. A tile or an offset table computes the same with a
#   part of the bytes.
# - So must it? No. Measure both, time and workspace, before you choose.
#
# Next: [04 Lowering on CUDA](04_cuda.ipynb), a side road: the same map, one thread for each value.
# Or go on with [05 Mini-batch and vectors](05_vectors.ipynb).

# %% tags=["numbers"]
{
    "3.70 GB": "memlab.plan(memlab.training_step(zoo.vgg16(), algorithm='im2col-batch'))"
    ".of('conv1_2.workspace', 32).nbytes",
    "7.5 GB": "sum(4 * 32 * n.layer.kernel**2 * n.shape[0] * n.shape[1] * n.shape[2]"
    " for n in zoo.resnet50().nodes if n.kind == 'conv2d' and not n.name.endswith('short'))",
}
