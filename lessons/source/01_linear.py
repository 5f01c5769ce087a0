# %% [markdown]
# # 01 One linear layer: what must one training step keep?
#
# 45 minutes. Needs: [00 Start](00_start.ipynb).
#
# You will be able to
#
# - say for each block of a small step who still needs it, and until when,
# - say why inference, the use of a trained network, needs less memory than training,
# - write a training step that keeps no more than its plan.
#
# Words: [training step](glossary.md), [feature map](glossary.md), [gradient](glossary.md),
# [gradient map](glossary.md), [lifetime](glossary.md), [inference](glossary.md).

# %%
import numpy as np

import memlab
from memlab import lesson, views, zoo

# %% [markdown]
# First, 2 questions about lesson 00.

# %%
lesson.recall("01.stays")

# %% tags=["solution"]
lesson.recall("01.stays").guess("floor").reveal()

# %%
lesson.recall("01.larger")

# %% tags=["solution"]
lesson.recall("01.larger").guess("gib").reveal()

# %% [markdown]
# Now a layer with 1 weight and 1 bias: `h = w1 x + w2`, then `y = tanh(h)`. h and y are **feature
# maps**, or maps: what a layer makes of each sample. This is inference: nothing is learned.

# %%
views.memory(memlab.inference_step(zoo.linear1()), batch=1, only=("batch",))

# %% [markdown]
# A bar is a block of memory, as high as its bytes, from its first writer to its last reader: its
# **lifetime**. Below each operation stands the pile of all that is alive in it. Click the picture,
# and go through the operations with Left and Right. Then move **Batch**.

# %% [markdown]
# ## What must forward keep for backward?
#
# In training, **forward** goes on to the error: E = (y - t)², and t is the target. **Backward**
# goes the other way. It asks how much E changes when y changes a little, then h, then each
# parameter. These are the **gradients**: dE/dy, dE/dh, dE/dw1, dE/dw2. The **update** moves each
# parameter a little against its gradient.

# %%
peak = lesson.predict("01.peak")


@peak.then
def training():
    return views.memory("linear1", 1, "sgd", only=("inputs", "outputs"))


peak

# %% tags=["solution", "picture-lifetimes"]
peak.guess("forward", because="all maps are there").revise("backward").reveal()

# %%
lesson.change("01.gelu")

# %% tags=["solution"]
lesson.change("01.gelu").guess("larger").reveal()

# %% [markdown]
# ## How many gradients does a batch make?
#
# A larger network, in its lesson size: images of 64·64, and 4 convolutions.


# %%
def convolutions(depth):
    x = memlab.network("small", image=(3, 64, 64))
    for _ in range(depth):
        x = x.conv(16, 3, pad="same").relu()
    return x.max_pool("all").flatten().linear(10).cross_entropy()


# %% [markdown]
# A text says: a step makes the gradients of every sample, stores them, and takes their mean at the
# end.<sup>B5</sup>

# %%
gradients = lesson.predict("01.gradients")


@gradients.then
def single_layer():
    layer = views.memory("linear1", 1, "sgd", only=("batch",))
    layer.batch = 8
    return layer


gradients

# %% tags=["solution"]
gradients.guess(32, because="every image has an error of its own").revise(1).reveal()

# %% [markdown]
# ## Why does inference need less?
#
# The same network, computed by direct convolution, which needs no memory but its input, its weights
# and its output. Lesson 03 has other ways.

# %%
prediction = lesson.predict("01.prediction")


@prediction.then
def without_learning():
    steps = views.memory(convolutions(4), 5, "sgd", algorithm="direct", only=("batch",))
    steps.training = False
    return steps


prediction

# %% tags=["solution", "picture-inference"]
prediction.guess(2, because="no gradients").revise(3.07).reveal()

# %% [markdown]
# ## Exercise: two layers, and a step of your own
#
# **Worked.** The single layer in fp32, batch B. **Shapes:** x, t, h and y have B·1 values each, and
# so have their gradients. **Bytes:** 4 B for each value. **Lifetime:** when backward begins, h is
# gone; x, t, y, E and the 2 parameters are alive. **Peak:** backward makes dE/dy before it can free
# one of them.

# %%
B = 10
by_hand = 4 * ((B + B + B) + 1 + 2 + B)  # x, t, y; E; w1, w2; dE/dy
step = memlab.training_step(zoo.linear1(), "sgd")
print(by_hand, "B, planned", memlab.plan(step).peak(B), "B")

# %% [markdown]
# **With blanks.** Two layers, when backward begins:

# %%
exercise = lesson.exercise("01.kept")
exercise.show()


# %% tags=["stub"]
def kept(batch, inputs, hidden, outputs):
    maps = batch * (inputs + ...)  # which maps does backward need?
    parameters = (inputs * hidden + hidden) + ...
    return None  # replace None: bytes of the maps, the parameters and the loss


# %% tags=["solution"]
def kept(batch, inputs, hidden, outputs):
    maps = batch * (inputs + hidden + outputs + outputs)  # x, the output of tanh, y, t
    parameters = (inputs * hidden + hidden) + (hidden * outputs + outputs)
    return (maps + parameters + 1) * 4  # and the loss


# %%
exercise.check(kept)

# %% [markdown]
# **Alone.** Your own training step in NumPy. The check measures the arrays that it makes:

# %%
exercise = lesson.exercise("01.my_step")
exercise.show()


# %% tags=["stub"]
def my_step(x, t, w1, w2):
    return None  # replace None: dE/dw1, dE/dw2


# %% tags=["solution"]
def my_step(x, t, w1, w2):
    y = w1 * x
    y += w2
    np.tanh(y, out=y)  # h is not needed again
    g = y - t
    g *= 2
    y *= y
    np.subtract(1, y, out=y)  # 1 - y² lies where y lay
    g *= y
    dw2 = g.mean()
    g *= x
    return g.mean(), dw2


# %%
exercise.check(my_step)

# %% [markdown]
# ## What this lesson leaves out
#
# - A run is measured by the arrays that NumPy allocates. Not counted: the buffers that the BLAS
#   library keeps for itself, Python's own objects, compiled code.
# - Another framework may keep h in place of y, or both.
# - More: [two slips in a text](appendix/slips.ipynb), found by running it.
#
# Sources: B5, D2.

# %% [markdown]
# ## The case so far
#
# ResNet-50 on a card of 12 GB goes with us from here on. Before anything is done:

# %%
views.case("01")

# %% [markdown]
# ## Key points
#
# - A block lives from its first writer to its last reader.
# - Backward decides what forward must keep. Of tanh it reads y, so h is freed.
# - Maps grow with the batch. There is one gradient for each parameter, whatever the batch.
# - Inference keeps nothing, and may take one sample at a time.
#
# Next: [02 A whole network](02_network.ipynb). Where do ResNet-50's bytes go?
