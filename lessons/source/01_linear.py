# %% [markdown]
# # 01 One linear layer: what must one training step keep?
#
# 45 minutes. Needs: [00 Start](00_start.ipynb).
#
# You will be able to
#
# - write the gradients of a small layer by hand, and check them against a run,
# - say for each number whether backward needs it, and until when,
# - explain why inference, the use of a trained network, needs less memory than training.
#
# Words: [training step](glossary.md), [backpropagation](glossary.md), [gradient](glossary.md),
# [lifetime](glossary.md), [residual](glossary.md), [workspace](glossary.md).

# %%
import numpy as np

import memlab
from memlab import lesson, units, views, zoo

memlab.run(memlab.training_step(zoo.mnist_cnn()), batch=5)

# %% [markdown]
# One training step has run on real arrays. Grey is the plan, made before the run. The dots are
# what NumPy's allocator was seen to give out during it. The residual is the largest difference
# over all operations, before, inside and after each one.

# %% [markdown]
# ## Which gradients does a step make?
#
# **Backpropagation in a minute.** Forward computes from the input to the error. Every operation
# can also say how its result reacts when one of its inputs moves a little. Backward multiplies
# these answers, from the error back to each parameter. The parameter then moves a small step
# against the product.
#
# Our layer has 1 weight and 1 bias: `h = w1 x + w2`, `y = f(h)`, `E = (y - t)²`, with f = tanh.
# Then f'(h) = 1 - y², and the products are
#
# | gradient | error → y | y → h | h → parameter |
# |---|---|---|---|
# | dE/dw1 = | 2 (y - t) · | f'(h) · | x |
# | dE/dw2 = | 2 (y - t) · | f'(h) · | 1 |

# %%
x, t, w1, w2, eta = 2.0, 0.9, 0.4, -0.1, 0.1
y = np.tanh(w1 * x + w2)
print(f"y = {y:.4f}, t = {t}")

# %%
sign = lesson.predict("01.sign")
sign

# %% tags=["solution"]
sign.guess("shrinks").reveal()

# %% [markdown]
# By hand, and then the same step on real arrays. `keep="gradients"` keeps the gradients after the
# step, so that we can read them.

# %%
step = memlab.training_step(zoo.linear1(), optimizer="sgd", format="fp64")
dw1, dw2 = 2 * (y - t) * (1 - y**2) * x, 2 * (y - t) * (1 - y**2)


def run_layer(w1, w2, x=x, t=t):
    given = {"h.weight": [[w1]], "h.bias": [w2]}
    return memlab.run(step, 1, [[x]], [[t]], given, settings={"rate": eta}, keep="gradients")


if sign.answered():
    found = [array.item() for array in run_layer(w1, w2).gradients.values()]
    print(f"by hand {dw1:.6f} {dw2:.6f}   run {found[0]:.6f} {found[1]:.6f}")

# %% [markdown]
# A text on this topic prints the same example with two slips (A1): both gradient lines are
# labelled dE/dw1, also the one without x; and the update adds: w ← w + η dE/dw.
#
# Which line is dE/dw1? Move w1 a little and see how E reacts. And the sign? Repeat the update.

# %%
if sign.answered():
    little = 1e-6
    change = run_layer(w1 + little, w2).loss - run_layer(w1 - little, w2).loss
    print(f"measured {change / (2 * little):.6f}   with x {dw1:.6f}   without x {dw2:.6f}")

# %%
for sign_of_update in (-1, +1) if sign.answered() else ():
    a, b, losses = w1, w2, []
    for _ in range(6):
        again = run_layer(a, b)
        losses.append(again.loss)
        ga, gb = (array.item() for array in again.gradients.values())
        a, b = a + sign_of_update * eta * ga, b + sign_of_update * eta * gb
    print(f"{sign_of_update:+}", " ".join(f"{loss:.4f}" for loss in losses))

# %% [markdown]
# With a plus the loss grows. The gradient points to where the error rises; a step has to go the
# other way.
#
# **Change it.** Set `x` to 1.0 above and run the code cells again; the card keeps its numbers.
# Which of the two slips can no longer be seen?

# %% [markdown] tags=["solution"]
# **Answer.** The labels: without the factor x both gradients are the same number.

# %% [markdown]
# And how many gradients does a batch make? A larger network, in its lesson size: images of 64·64,
# and 4 convolutions. A text says that a step makes gradients for every sample, stores them and
# takes their mean at the end (B5).


# %%
def convolutions(depth):
    x = memlab.network("small", image=(3, 64, 64))
    for _ in range(depth):
        x = x.conv(16, 3, pad="same").relu()
    return x.max_pool("all").flatten().linear(10).cross_entropy()


gradients = lesson.predict("01.gradients")
gradients

# %% tags=["solution"]
gradients.guess(32).reveal()

# %% [markdown]
# Is it the same mean? Three samples one by one, and together:

# %%
if gradients.answered():
    pairs = [(2.0, 0.9), (-1.0, 0.1), (0.5, -0.4)]
    alone = [run_layer(w1, w2, x, t).gradients["gradient of h.weight"] for x, t in pairs]
    given, (xs, ts) = {"h.weight": [[w1]], "h.bias": [w2]}, np.array(pairs).T[..., None]
    together = memlab.run(step, 3, xs, ts, given, keep="gradients").gradients
    at_once = together["gradient of h.weight"].item()
    print(f"mean of 3 runs {np.mean(alone):.6f}   1 run of 3 samples {at_once:.6f}")

# %% [markdown]
# ## What must forward keep for backward?
#
# First without backward. A bar is a block of memory, as high as its bytes, from its first writer
# to its last reader. Below each operation stands the pile of all that is alive in it.

# %%
views.memory(memlab.inference_step(zoo.linear1(), "fp64"), batch=1)

# %% [markdown]
# x goes when h is there, and h when y is. Now the training step: backward and the update too, each
# value 8 B (fp64). How many bytes does it need at its peak?

# %%
peak = lesson.predict("01.peak")
peak

# %% tags=["solution"]
peak.guess("88 B").reveal()

# %%
if peak.answered():
    front = ("batch", "inputs", "outputs", "format")
    given = {"format": "fp64", "control": front, "networks": ["linear1"]}
    display(views.memory("linear1", 1, "sgd", **given))

# %% [markdown]
# Here `h.weight` is w1 and `h.bias` is w2. Click a bar, or press Up and Down in the picture:
# **why** must this block stay, and who waits for it? Left and Right move the frame. Read the
# gradients again: each factor is a block that somebody waits for. Which map is not kept, and why?

# %% [markdown] tags=["solution"]
# **Answer.** h: tanh can be differentiated from y, so nobody reads h in backward. A step keeps x,
# t, one of h and y, and the parameters.

# %% [markdown]
# **Change it.** Batch 8, then 4 inputs, then 4 outputs. Which blocks grow each time?

# %% [markdown] tags=["solution"]
# **Answer.** With the batch: x, t, all maps and their gradients. With the inputs: x, w1 and dE/dw1.
# With the outputs: all but x and E.

# %% [markdown]
# ## Why does inference need less?
#
# Maps follow the batch. What is alive at the peak of training, at batch 5? The workspace is
# 1 image, lowered, at any batch: lesson 03 is about it, and it is left out from here on.

# %%
training = memlab.training_step(convolutions(4), "sgd")
inference = memlab.inference_step(convolutions(4))
measured = memlab.run(training, 5).measured
at_peak = measured.roles(5, measured.peak_at(5, workspace=False).index)
roles = {role: nbytes for role, nbytes in at_peak.items() if nbytes and role != "workspace"}
print("\n".join(f"{role:18} {nbytes:>10,} B" for role, nbytes in roles.items()))

# %% [markdown]
# The images are small against the maps that are made from them, and few parameters can make large
# maps (A15). Now inference: the trained network is used, and nothing is learned.

# %%
prediction = lesson.predict("01.prediction")
prediction

# %% tags=["solution"]
prediction.guess(2).reveal()


# %%
def peak_of(step, batch):
    return memlab.run(step, batch).measured.peak(batch, workspace=False)


if prediction.answered():
    for name, step_of in (("training", training), ("inference", inference)):
        print(name, *(f"batch {b}: {units.both(peak_of(step_of, b))}" for b in (1, 5)))
    print(f"inference, 5 to 1: {peak_of(inference, 5) / peak_of(inference, 1):.2f} times")

# %% [markdown]
# Two reasons, and both are measured (D2):
#
# - **Nothing is kept.** A map is freed as soon as the next layer has read it, and no gradient is
#   made.
# - **Any batch will do.** A training step needs its batch for a good gradient. Inference needs
#   none, so the samples can come one by one. The parameters stay, so batch 5 takes a little less
#   than 5 times what batch 1 takes.
#
# Does the first reason depend on the depth?

# %%
for depth in (2, 4, 8) if prediction.answered() else ():
    net = convolutions(depth)
    both = memlab.training_step(net, "sgd"), memlab.inference_step(net)
    peaks = [units.short(peak_of(made, 5)) for made in both]
    print(f"{depth} convolutions: training {peaks[0]}, inference {peaks[1]}")

# %% [markdown]
# **Change it.** Replace `"sgd"` by `"adam"` in the last cell. Why does so little change here, and
# for which networks would it be much? [Lesson 02](02_network.ipynb) answers.

# %% [markdown] tags=["solution"]
# **Answer.** This network has few parameters. Adam keeps 2 values for each of them.

# %% [markdown]
# ## Exercise: two layers, and a step of your own
#
# **Worked.** One layer from 1 to 1 feature in fp32, batch B. **Shapes:** x, y and t have B·1 values
# each. **Bytes:** 4 B for each value. **Lifetime:** when backward begins, x, y, t, the loss and
# the 2 parameters are alive. **Peak:** it comes later; here we stop when backward begins.

# %%
B, one = 10, memlab.training_step(zoo.linear1(), "sgd")
print(B * (1 + 1 + 1) * 4 + 4 + 2 * 4, "B, measured", memlab.run(one, B).before[3], "B")
# before[3]: when operation 4 begins, which is backward of the loss

# %% [markdown]
# **With blanks.** Two layers:

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
# **Alone.** Your own training step in NumPy, under the meter:

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
    np.subtract(1, y, out=y)  # f'(h) stands where y stood
    g *= y
    dw2 = g.mean()
    g *= x
    return g.mean(), dw2


# %%
exercise.check(my_step)

# %% [markdown]
# ## What this run leaves out
#
# - The meter sees the arrays that NumPy allocates. It does not see the
#   buffers that the BLAS library keeps for itself, Python's own objects, or compiled code.
# - Another framework may keep h in place of y, or both.

# %% [markdown]
# ## Key points
#
# - A gradient is a product along the way back, and the update steps against it.
# - What backward reads must be kept: the inputs of layers with weights, and what gives f'(h).
# - Maps grow with the batch. There is one gradient for each parameter, whatever the batch.
# - Inference keeps nothing, and may take one sample at a time.
# - Planned equals measured, at every operation, to the byte.
#
# Next: [02 A whole network](02_network.ipynb). Where do ResNet-50's bytes go?
