# %% [markdown]
# # 01 One linear layer: what must one training step keep?
#
# 45 minutes. Needs: [00 Start](00_start.ipynb).
#
# You will be able to
#
# - say for each block of a small step who needs it, and until when,
# - say why inference needs less memory than training,
# - write a training step that keeps no more than its plan.
#
# Words: [training step](glossary.md), [feature map](glossary.md), [gradient](glossary.md),
# [gradient map](glossary.md), [lifetime](glossary.md), [inference](glossary.md).

# %%
from memlab import lesson

lesson.recall("01.stays")

# %% tags=["solution"]
lesson.recall("01.stays").guess("floor").reveal()

# %%
lesson.recall("01.larger")

# %% tags=["solution"]
lesson.recall("01.larger").guess("gib").reveal()

# %% [markdown]
# A layer with 1 weight and 1 bias: `h = w1 x + w2`, then `y = tanh(h)`. h and y are **feature
# maps**, or maps: what is made of each sample. This is inference: nothing is learned.

# %%
import numpy as np

import memlab
from memlab import views, zoo

views.memory(memlab.inference_step(zoo.linear1()), batch=1, only=("batch",))

# %% [markdown]
# A bar is a block of memory, as high as its bytes, from its first writer to its last reader: its
# **lifetime**. Parameters are there before and after, and the result y stays. Below each operation
# stands all that is alive in it. Click the picture, and press Left and Right. Then move **Batch**.

# %% [markdown]
# ## What must forward keep for backward?
#
# In training, **forward** goes on to the error: E = (y - t)², where t is the target. **Backward**
# asks how much E changes when y changes a little, then h, then each parameter. These are the
# **gradients** dE/dy, dE/dh, dE/dw1, dE/dw2. The **update** moves each parameter against its
# gradient.

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
# A larger network, in its lesson size: images of 64·64, and 4 convolutions:


# %%
def convolutions(depth):
    x = memlab.network("small", image=(3, 64, 64))
    for _ in range(depth):
        x = x.conv(16, 3, pad="same").relu()
    return x.max_pool("all").flatten().linear(10).cross_entropy()


# %%
gradients = lesson.predict("01.gradients")
gradients

# %% tags=["solution"]
gradients.guess(32, because="every image has an error of its own").revise(1).reveal()

# %% [markdown]
# ## Why does inference need less?
#
# A text says that inference needs far less memory than training.<sup>D2</sup> The same network, by
# direct convolution, which needs no memory beside its input, weights and output:

# %%
prediction = lesson.predict("01.prediction")


@prediction.then
def with_learning():
    steps = views.memory(
        convolutions(4), 5, "sgd", training=False, algorithm="direct", only=("batch",)
    )
    steps.training = True
    return steps


prediction

# %% tags=["solution", "picture-inference"]
prediction.guess(2, because="no gradients").revise(3.07).reveal()

# %% [markdown]
# ## Exercise: two layers, and a step of your own
#
# **Worked.** The single layer in fp32, batch B. **Shapes:** x, t, h, y and dE/dy have B·1 values.
# **Bytes:** 4 B for each value. **Lifetime:** when backward begins, h is gone; x, t, y, E and 2
# parameters are alive. **Peak:** backward makes dE/dy before any of these is freed.

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
    return None  # replace None: bytes of maps and target, parameters and loss


# %% tags=["solution"]
def kept(batch, inputs, hidden, outputs):
    maps = batch * (inputs + hidden + outputs + outputs)  # x, the output of tanh, y, t
    parameters = (inputs * hidden + hidden) + (hidden * outputs + outputs)
    return (maps + parameters + 1) * 4  # and the loss


# %%
exercise.check(kept)

# %% [markdown]
# **Alone.** Your own step in NumPy. The check measures its arrays:

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
# - Not measured: buffers of the library that multiplies matrices, Python's own objects.
# - Another framework may keep h instead of y, or both.
# - More: [slips that a run finds in a text](appendix/slips.ipynb).
#
# Sources: B5, D2.

# %% [markdown]
# ## Key points
#
# - Backward decides what forward must keep. Of tanh it reads y, so h is freed.
# - Maps grow with the batch. There is one gradient for each parameter, and not for each
#   sample.<sup>B5</sup>
# - Inference keeps nothing, and may take one sample at a time.
#
# Next: [02 A whole network](02_network.ipynb). Where do ResNet-50's bytes go?
