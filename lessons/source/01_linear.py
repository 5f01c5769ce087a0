# %% [markdown]
# # 01 One linear layer: what must one training step keep?
#
# 45 minutes. Needs: [00 Start](00_start.ipynb).

# %%
import memlab
from memlab import lesson, views, zoo

views.memory(memlab.inference_step(zoo.linear1()), batch=1, only=("batch",), largest=4)

# %% [markdown]
# Move **Batch**, then click the picture and press the arrow keys ← →. A bar is a block of memory:
# it begins at the operation that writes the block and ends at the last one that needs it. This is
# the **lifetime** of the block.
#
# The layer has 1 weight and 1 bias: `h = w1 x + w2`, then `y = tanh(h)`. The values h and y, which
# are computed for each sample, are **feature maps**. This is inference: the layer does not learn.
#
# You will be able to
#
# - say which operation needs each block of a small step, and until when,
# - explain why inference needs less memory than training,
# - write a training step that keeps no more than its plan.
#
# Words: [training step](glossary.md), [feature map](glossary.md), [gradient](glossary.md),
# [gradient map](glossary.md), [lifetime](glossary.md), [inference](glossary.md).

# %%
lesson.recall("01.stays")

# %% tags=["solution"]
lesson.recall("01.stays").guess("floor").reveal()

# %%
lesson.recall("01.larger")

# %% tags=["solution"]
lesson.recall("01.larger").guess("gib").reveal()

# %% [markdown]
# ## What must forward keep for backward?
#
# In training, **forward** also computes the error E = (y - t)², where t is the target. **Backward**
# computes how much E changes when y changes a little. Then it does the same for h, and for each
# parameter. These are the **gradients** dE/dy, dE/dh, dE/dw1 and dE/dw2. The **update** moves each
# parameter against its gradient.

# %%
lesson.predict("01.peak")

# %% tags=["solution", "picture-lifetimes"]
lesson.predict("01.peak").guess("forward", because="all maps are there").revise("backward").reveal()

# %%
lesson.change("01.gelu")

# %% tags=["solution"]
lesson.change("01.gelu").guess("larger").reveal()

# %% [markdown]
# ## Exercise: how many bytes wait for backward?
#
# **Worked.** Answer the questions above first: this uses their answers. The single layer in fp32,
# with tanh and batch B. **Shapes:** x, t, h, y and dE/dy have B·1 values. **Bytes:** 4 B for each
# value. **Lifetime:** when backward begins, h is freed; x, t, y, E and 2 parameters are alive.
# **Peak:** backward computes dE/dy before any of these is freed.

# %%
B = 10
by_hand = 4 * ((B + B + B) + 1 + 2 + B)  # x, t, y; E; w1, w2; dE/dy
step = memlab.training_step(zoo.linear1(), "sgd")
print(by_hand, "B, planned", memlab.plan(step).peak(B), "B")

# %% [markdown]
# **Fill in the blanks.** Now there are two layers. Which bytes are alive when backward begins?

# %%
exercise = lesson.exercise("01.kept")
exercise.show()


# %% tags=["stub"]
def kept(batch, inputs, hidden, outputs):
    maps = batch * (inputs + ...)  # which feature maps does backward need?
    parameters = (inputs * hidden + hidden) + ...
    return None  # replace None: bytes of feature maps and target, parameters and loss


# %% tags=["solution"]
def kept(batch, inputs, hidden, outputs):
    maps = batch * (inputs + hidden + outputs + outputs)  # x, the output of tanh, y, t
    parameters = (inputs * hidden + hidden) + (hidden * outputs + outputs)
    return (maps + parameters + 1) * 4  # and the loss


# %%
exercise.check(kept)

# %% [markdown]
# ## Does a larger batch need more gradient memory?
#
# A larger network reads images of 64·64 pixels. It has 4 convolutions with a ReLU after each, a
# max-pool over all pixels, and a linear layer.

# %%
lesson.predict("01.gradients")

# %% tags=["solution"]
lesson.predict("01.gradients").guess(32, because="one error for each image").revise(1).reveal()

# %% [markdown]
# ## Why does inference need less memory?
#
# A text says that inference needs far less memory than training.<sup>D2</sup> How much less? The
# network uses direct convolution here: this needs memory only for its input, weights and
# output.

# %%
lesson.predict("01.prediction")

# %% tags=["solution", "picture-inference"]
lesson.predict("01.prediction").guess(2, because="no gradients").revise(3.07).reveal()

# %% [markdown]
# ## Exercise: can you write a training step?
#
# **Alone.** Write the step of the single layer in NumPy. The check measures the arrays that your
# step makes.

# %%
import numpy as np

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
    np.subtract(1, y, out=y)  # 1 - y² takes the place of y
    g *= y
    dw2 = g.mean()
    g *= x
    return g.mean(), dw2


# %%
exercise.check(my_step)

# %% [markdown]
# ## What this lesson leaves out
#
# - The buffers of the library that multiplies matrices, and Python's own objects, are not measured.
# - Another framework may keep h instead of y, or both.
# - More: [mistakes in a text, and how a run finds them](appendix/slips.ipynb).
#
# On another day, first choose Run > Run All Cells.
#
# Sources: B5, D2.

# %% [markdown]
# ## Key points
#
# - Backward decides what forward must keep. Backward of tanh reads y, so h is freed.
# - Feature maps grow with the batch. There is one gradient for each parameter, and not for each
#   sample.<sup>B5</sup>
# - Inference keeps nothing for backward, and it can take one sample at a time.
#
# Next: [02 A whole network](02_network.ipynb). What does a smaller batch save?
