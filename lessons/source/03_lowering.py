# %% [markdown]
# # 03 Lowering: why does a 3x3 convolution need nine times its input, and must it?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).
#
# You will be able to
#
# - say what lowering writes for any convolution, and point at every copy,
# - work out its bytes on paper, for a layer and for a network,
# - name three ways to compute the same with less, and measure bytes and time of each.
#
# Words: [lowering (im2col)](glossary.md), [matrix product](glossary.md), [stride](glossary.md),
# [same padding](glossary.md), [workspace](glossary.md), [tile](glossary.md),
# [cache](glossary.md), [offset table](glossary.md).

# %%
import math

import memlab
from memlab import lesson, units, views, zoo

views.shifted_copies("vgg16", "conv3_2", step=1)

# %% [markdown]
# A layer of VGG-16, with windows of 3·3. Move **Copies written**, one step at a time.
#
# To compute an output value, a convolution needs the 9 values in its window. Lowering (im2col)
# writes each window as a column of a matrix. Now read the matrix by rows: one row is the whole
# picture, shifted. There is one such copy for each place in the window, so there are 9. Area is
# bytes.
#
# Click a pixel: in how many copies does it stand?
#
# The picture has 1 channel. C channels give C·k² rows: c changes slowest, then ky, then kx. With
# stride s, `lowered[c, ky, kx, oy, ox] = input[c, oy·s + ky - pad, ox·s + kx - pad]`.

# %% [markdown]
# ## Lowering writes one copy for each place in the window
#
# An earlier layer of VGG-16, and a wider window:

# %%
copy = lesson.predict("03.copy")
copy

# %% tags=["solution"]
copy.guess(15).reveal()

# %%
if copy.answered():
    display(views.shifted_copies("vgg16", "conv1_2", k=5))

# %% [markdown]
# The exact factor is k²·Ho·Wo / (H·W), where Ho and Wo are the rows and columns of the output. With
# same padding and stride 1 they are those of the input, and k² is left (A8). Padding writes zeros,
# and zeros are bytes too.
#
# Now `conv1_2` as it is, with 3·3, and 1 image of it written for real:

# %%
if copy.answered():
    real = views.shifted_copies("vgg16", "conv1_2")
    print(real.write())
    display(real)

# %% [markdown]
# At batch 128 this layer reads 1.64 GB, and on its way to a result it writes 14.80 GB: more than a
# card of 12 GB holds.
#
# The stride is how far the window moves:

# %%
stride = lesson.predict("03.stride")
stride

# %% tags=["solution"]
stride.guess(9).reveal()

# %%
if stride.answered():
    display(views.shifted_copies("vgg16", "conv1_2", stride=2))

# %% [markdown]
# Still 9 copies. Each has half of the rows and half of the columns, so k²/s² is left.
#
# **Change it.** In this view, set **Kernel** to 1 and **Stride** to 1. How many bytes are written,
# and why? Then set Kernel to 3, open **More** and set **Padding** to none. Is the factor exactly 9?

# %% [markdown] tags=["solution"]
# **Answer.** 0 B: the matrix is the input, and it is used where it stands. Without padding each
# copy has fewer places than the input: 8.84 times for this layer, 5.06 times for the small picture.

# %% [markdown]
# ## The factor of a network depends on its mix of windows

# %%
whole = lesson.predict("03.whole")
whole

# %% tags=["solution"]
whole.guess(9).reveal()

# %% [markdown]
# The same, by window and stride, at batch 32:

# %%
resnet = zoo.resnet50()
layers = [node for node in resnet.nodes if node.kind == "conv2d"]
ledger = memlab.plan(memlab.inference_step(resnet, algorithm="im2col-batch"))
copies = {e.name: e.size.at(32) for e in ledger.entries if e.role == "workspace"}

# %%
kinds = sorted({(n.layer.kernel, n.layer.stride) for n in layers}, reverse=True)
for k, s in kinds if whole.answered() else ():
    these = [node for node in layers if (node.layer.kernel, node.layer.stride) == (k, s)]
    read = sum(4 * 32 * math.prod(node.input_shapes[0]) for node in these)
    made = sum(copies.get(f"{node.name}.workspace", 0) for node in these)
    sizes = f"read {units.short(read):>7}, copied {units.short(made):>7}"
    print(f"{len(these):2} of {k}x{k}, stride {s}: {sizes}")

# %% [markdown]
# Most windows are 1·1, and they read most of the bytes. With stride 1 nothing is copied for them.
#
# A copy is workspace: it lives inside 1 operation, so 2 copies are never alive together. What does
# lowering the whole batch add to the peak of a training step?

# %%
for way in ("im2col-image", "im2col-batch") if whole.answered() else ():
    peak = memlab.plan(memlab.training_step(resnet, algorithm=way)).peak(32)
    print(f"{way:12}  peak {units.both(peak)}")

# %% [markdown]
# **Change it.** Replace `resnet` by `zoo.vgg16()` in the last cell. Why does this peak grow by so
# much more?

# %% [markdown] tags=["solution"]
# **Answer.** `conv1_2` copies 3.70 GB, more than all else that is alive then. The largest copy of
# ResNet-50 takes 0.24 GB. It is made in `conv1`, where few other bytes are alive.

# %% [markdown]
# ## A part of the copy is enough, and can be faster
#
# Why make a copy at all? Because then a convolution is one large matrix product, and libraries are
# fast at that. The loops of the formula need no copy (G1). Both on your machine, for `1.1.conv2` of
# ResNet-50, which is 3x3 (A14). It takes about 20 seconds:

# %% tags=["nbval-ignore-output"]
views.algorithm_times("resnet50", "1.1.conv2", 8, ("direct", "im2col-batch"), progress=False)

# %% [markdown]
# Lowering buys time with bytes. But a product can be computed in parts: a tile of output places at
# a time, all tiles in one buffer (G4).

# %%
tile = lesson.predict("03.tile")
tile

# %% tags=["solution"]
tile.guess("116 MB").reveal()

# %% [markdown]
# An offset table goes further: it lowers nothing, and says where in the input the values of a
# window stand (G9). So there are 4 ways: the whole batch, one image at a time, one tile at a time,
# a table. Before you run the next cell, which takes half a minute, write down which is the fastest.

# %% tags=["nbval-ignore-output"]
if tile.answered():
    ways = ("im2col-batch", "im2col-image", "im2col-tile", "offsets")
    display(views.algorithm_times("resnet50", "1.1.conv2", 8, ways, progress=False).curve())

# %% [markdown]
# Does your curve fall to the left? Then less memory took less time. A whole copy goes out to memory
# and comes back. A tile is still in the cache, close to the processor, when the product needs it.
#
# **What frameworks do.** Caffe lowers one image at a time (G3). Libraries for GPUs make tiles
# inside the product, which cuDNN calls implicit GEMM (G1), or choose for each layer the fastest
# algorithm within a limit of workspace, as `memlab.lowering(step, batch=32, limit="8 MiB")` does.
# PyTorch on a processor, without and with its library oneDNN, where it is installed:

# %% tags=["nbval-ignore-output"]
from memlab.bench import torch_lowering

torch_lowering.measure()

# %% [markdown]
# **Change it.** Run the curve for `"conv1"`, which is 7x7 with stride 2. Which of the 4 ways is
# missing, and why?

# %% [markdown] tags=["solution"]
# **Answer.** The offset table. It is for stride 1, where neighbours in the output read neighbours
# in the input.

# %% [markdown]
# ## Exercise: what fits into a workspace
#
# **Worked.** `conv1_2`, 1 image at a time. **Shapes:** a window has 64·3·3 values, and there are
# 224·224 windows. **Bytes:** 4 for each value. **Lifetime:** inside 1 operation, and every image
# uses the same buffer. **Peak:** this buffer counts if the peak is in this operation.

# %%
print(units.both(4 * 64 * 3 * 3 * 224 * 224))

# %% [markdown]
# **With blanks.** Any layer, the whole batch at once:

# %%
exercise = lesson.exercise("03.lowered_bytes")
exercise.show()


# %% tags=["stub"]
def lowered_bytes(batch, channels, size, k, stride, pad):
    rows = ...  # at how many places does a window of k fit?
    return None  # replace None


# %% tags=["solution"]
def lowered_bytes(batch, channels, size, k, stride, pad):
    rows = (size + 2 * pad - k) // stride + 1
    return 4 * batch * channels * k * k * rows * rows


# %%
exercise.check(lowered_bytes)

# %% [markdown]
# **Alone.** Between one image and the whole batch there is a choice: as many images as a limit of
# workspace allows.

# %%
exercise = lesson.exercise("03.images_together")
exercise.show()


# %% tags=["stub"]
def images_together(limit, layers):
    return None  # replace None


# %% tags=["solution"]
def images_together(limit, layers):
    largest = 0
    for channels, size, k, stride, pad in layers:
        rows = (size + 2 * pad - k) // stride + 1
        if (k, stride, pad) != (1, 1, 0):
            largest = max(largest, 4 * channels * k * k * rows * rows)
    return limit // largest


# %%
exercise.check(images_together)

# %% [markdown]
# Your function answers for ResNet-50:

# %%
shapes = [(*n.input_shapes[0][:2], n.layer.kernel, n.layer.stride, n.layer.pad) for n in layers]
for limit in ("8 MB", "64 MB", "256 MB"):
    print(limit, images_together(units.parse(limit), shapes))

# %% [markdown]
# ## Appendix: do ResNet-50's activations take 7.5 GB with lowering?
#
# A text says so, at batch 32 (A7). What may have been counted?

# %%
if whole.answered():
    outputs = {n.name: 4 * 32 * n.layer.kernel**2 * math.prod(n.shape) for n in layers}
    most = [nbytes for name, nbytes in outputs.items() if not name.endswith("short")]
    print("every copy, all kept:        ", units.both(sum(copies.values())))
    print("the largest copy:            ", units.both(max(copies.values())))
    print("k² times every output:       ", units.both(sum(outputs.values())))
    print("the same without 4 shortcuts:", units.both(sum(most)))

# %% [markdown]
# The last line is 7.5 GB. But lowering copies inputs, not outputs, and frees each copy. The figure
# comes from elsewhere: it was measured, and is all memory in use while ResNet-50 trained on a card
# of 12 GB. Such a measurement does not say what the bytes are. A plan does.

# %% [markdown]
# ## What this lesson leaves out
#
# - Times are of 1 thread on your processor. Lesson 04 is about GPUs.
# - The matrix product packs its operands into buffers of its own, and the plan does not have them.
# - Other algorithms trade more workspace for fewer multiplications: Winograd (G5), Fourier
#   transforms (G7).

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
# Next, optional: [04 Lowering on CUDA](04_cuda.ipynb). The same map, one thread for each value.
# Or go on with [05 Mini-batch and vectors](05_vectors.ipynb).

# %% tags=["numbers"]
{
    "7.5 GB": "sum(4 * 32 * n.layer.kernel**2 * n.shape[0] * n.shape[1] * n.shape[2]"
    " for n in zoo.resnet50().nodes if n.kind == 'conv2d' and not n.name.endswith('short'))",
    "8.84 times": "3**2 * 222**2 / 224**2",
    "5.06 times": "3**2 * 6**2 / 8**2",
    "3.70 GB": "memlab.plan(memlab.training_step(zoo.vgg16(), algorithm='im2col-batch'))"
    ".of('conv1_2.workspace', 32).nbytes",
    "0.24 GB": "memlab.plan(memlab.training_step(zoo.resnet50(), algorithm='im2col-batch'))"
    ".of('conv1.workspace', 32).nbytes",
}
