# %% [markdown]
# # Appendix: what does lowering do in backward?
#
# Belongs to: [03 Lowering](../03_lowering.ipynb).
#
# Forward is one product: `Y = W · L`, with the lowered copy `L`. Backward is given the gradient of
# the output, `dY`, and makes two more:
#
# - `dW = dY · Lᵀ` needs the copy. The copy was freed in forward, so it is written again.
# - `dL = Wᵀ · dY` is the gradient of the copy. It has the same size, and it replaces the copy in
#   its buffer.
#
# But the layer before needs the gradient of the image. Up to k² places of the copy hold the same
# pixel, and each of them contributes to the gradient of this pixel. **col2im** adds these
# contributions:

# %%
import numpy as np
from numba import njit


@njit
def col2im(lowered, k, rows, columns):
    copies = lowered.reshape(-1, k, k, rows, columns)
    image = np.zeros((len(copies), rows + k - 1, columns + k - 1), lowered.dtype)
    for c in range(len(copies)):
        for ky in range(k):
            for kx in range(k):
                image[c, ky : ky + rows, kx : kx + columns] += copies[c, ky, kx]
    return image


# %% [markdown]
# Compare it with `im2col` of the lesson: the loops are the same, but the values go the other way,
# with `+=`. How many contributions does each pixel of an 8·8 picture get? Let every value of the
# copy contribute 1, and remove the padding:

# %%
print(col2im(np.ones((9, 64)), 3, 8, 8)[0, 1:-1, 1:-1].astype(int))

# %% [markdown]
# These are the numbers of the first view of the lesson, where a click on a pixel shows in how many
# copies it is.
#
# ## Is it the gradient?
#
# Take 16 channels and 8 kernels, with whole numbers, so that nothing is rounded. The gradient says
# by how much a sum changes when one pixel grows by 1. So let one pixel grow. memlab has its own
# col2im for any stride and padding. PyTorch calls im2col `unfold`, and col2im `fold`.

# %%
from memlab import kernels

drawn = np.random.default_rng(0)
shapes = (1, 16, 8, 8), (8, 16 * 3 * 3), (8, 8 * 8)
x, w, dy = (drawn.integers(-9, 10, shape).astype(float) for shape in shapes)
dx = col2im(w.T @ dy, 3, 8, 8)[:, 1:-1, 1:-1]


def weighted_sum(x):
    return (dy * (w @ kernels.im2col(x, k=3, pad=1)[0])).sum()


# %%
grown = x.copy()
grown[0, 5, 2, 3] += 1
own = kernels.col2im((w.T @ dy)[None], x.shape, k=3, pad=1)
print("the sum changes by", weighted_sum(grown) - weighted_sum(x))
print("its gradient is   ", dx[5, 2, 3])
print("memlab's differs by at most", abs(own - dx).max())

# %% [markdown]
# ## What does a copy add to the peak?
#
# In backward too, the copy lives inside 1 operation: first as `L`, then as `dL`, in one buffer. So
# it counts only if the peak is in this operation. These are the peaks at batch 32, with one image
# lowered at a time, and with the whole batch lowered at once:

# %%
import memlab
from memlab import units, zoo

for network in (zoo.resnet50(), zoo.vgg16()):
    for way in ("im2col-image", "im2col-batch"):
        ledger = memlab.plan(memlab.training_step(network, algorithm=way))
        peak = units.in_unit(ledger.peak(32), "GB")
        print(f"{network.title}, {way}: {peak} in {ledger.peak_at(32).row.name}")

# %% [markdown]
# With the whole batch lowered, the peak of VGG-16 is in the backward of `conv1_2`: its copy takes
# 3.70 GB, more than everything else that is alive then. The largest copy of ResNet-50 is made in
# `conv1`, where few other bytes are alive.

# %% tags=["numbers"]
{
    "3.70 GB": "memlab.plan(memlab.training_step(zoo.vgg16(), algorithm='im2col-batch'))"
    ".of('conv1_2.backward workspace', 32).nbytes",
}
