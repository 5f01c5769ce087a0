# %% [markdown]
# # 01 One linear layer: what must one training step keep?
#
# 40 minutes. Needs: [00 Start](00_start.ipynb).
#
# You will be able to
#
# - write the gradients of a small layer by hand, and check them against a run,
# - say for each number whether backward needs it, and until when,
# - explain why prediction needs less memory than training, and measure it.
#
# Words you do not know are in the [glossary](glossary.md).

# %%
import numpy as np

import memlab
from memlab import units, views, zoo

memlab.run(memlab.training_step(zoo.mnist_cnn()), batch=5)

# %% [markdown]
# One training step has run on real arrays. Grey is the plan, made before the run. The dots are
# what NumPy's allocator was seen to give out during it. The residual is the largest difference
# over all operations, before, inside and after each one.

# %% [markdown]
# ## Three factors give both gradients
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
#
# **Predict:** below, y comes out lower than its target t. Will w1 grow or shrink in the update?

# %%
x, t, w1, w2, eta = 2.0, 0.9, 0.4, -0.1, 0.1
y = np.tanh(w1 * x + w2)
dw1, dw2 = 2 * (y - t) * (1 - y**2) * x, 2 * (y - t) * (1 - y**2)
print(f"by hand  y {y:.6f}  dE/dw1 {dw1:.6f}  dE/dw2 {dw2:.6f}  new w1 {w1 - eta * dw1:.6f}")

# %% [markdown]
# Now the same step on real arrays. `keep="gradients"` keeps the gradients after the step, so that
# we can read them.

# %%
step = memlab.training_step(zoo.linear1(), optimizer="sgd", format="fp64")


def run_layer(w1, w2, x=x, t=t):
    given = {"h.weight": [[w1]], "h.bias": [w2]}
    return memlab.run(step, 1, [[x]], [[t]], given, settings={"rate": eta}, keep="gradients")


run = run_layer(w1, w2)
found = [array.item() for array in (*run.gradients.values(), *run.parameters.values())]
print("run      dE/dw1 {:.6f}  dE/dw2 {:.6f}  new w1 {:.6f}".format(*found))
print("agrees:", np.allclose(found, [dw1, dw2, w1 - eta * dw1, w2 - eta * dw2], rtol=1e-12, atol=0))

# %% [markdown]
# A text on this topic prints the same example with two slips (A1):
#
# - both gradient lines are labelled dE/dw1, also the one without x,
# - the update adds: w ← w + η dE/dw.
#
# Which line is dE/dw1? Move w1 a little and see how E reacts:

# %%
little = 1e-6
change = run_layer(w1 + little, w2).loss - run_layer(w1 - little, w2).loss
print(f"measured {change / (2 * little):.6f}   with x {dw1:.6f}   without x {dw2:.6f}")

# %% [markdown]
# And the sign? **Predict** the last loss of each line: higher or lower than the first?

# %%
for sign, name in ((-1, "w - eta * gradient"), (+1, "w + eta * gradient")):
    a, b, losses = w1, w2, []
    for _ in range(6):
        again = run_layer(a, b)
        losses.append(again.loss)
        ga, gb = (array.item() for array in again.gradients.values())
        a, b = a + sign * eta * ga, b + sign * eta * gb
    print(name, " ".join(f"{loss:.4f}" for loss in losses))

# %% [markdown]
# With a plus the loss grows. The gradient points to where the error rises; a step has to go the
# other way.
#
# **Change it.** Set `x` to 1.0 above and run the cells again. Which of the two slips can no longer
# be seen?

# %% [markdown]
# ## Backward decides what forward must keep
#
# Each value takes 8 B here (fp64). **Predict:** how many bytes are alive at the peak of this step?
# Count x, t, w1, w2, h, y, E and the gradients, and ask of each: is it alive **then**?
# Write your guess in the first line, such as `"50 B"`.

# %%
guess = None
run = memlab.run(step, batch=1)
views.planned_and_measured(run, guess)

# %% [markdown]
# Was your guess higher? Then you may have counted blocks that are never alive together.
# **Why** is each block alive at the peak, and who waits for it?

# %%
ledger = memlab.plan(step)
print(ledger.why(batch=1).text())

# %% [markdown]
# Read the formulas again with this list beside them:
#
# | block | who needs it after forward |
# |---|---|
# | x | dE/dw1 has the factor x |
# | y | 2 (y - t), and f'(h) = 1 - y² |
# | t | 2 (y - t) |
# | w1, w2 | the update, and the next step |
# | h | nobody: tanh can be differentiated from y |
#
# So a step keeps x, one of h and y, and the parameters. Here h is freed early:

# %%
for block in ("h", "y", "input"):
    entry = next(e for e in ledger.entries if e.name == block)
    print(f"{block:6} from {ledger.made_by(entry):16} to {ledger.needed_by(entry)}")

# %% [markdown]
# **Change it.** Set `batch=1` to `batch=1000` in the cell with your guess. Which blocks grow, and
# which stay as they are?

# %% [markdown]
# ## Maps follow the batch, gradients do not, and prediction keeps neither
#
# A larger network, in its lesson size: images of 64·64, and 4 convolutions.
#
# **Predict:** at batch 32, are there 32 gradients for each weight, which are averaged at the end
# (B5)?


# %%
def convolutions(depth):
    x = memlab.network("small", image=(3, 64, 64))
    for _ in range(depth):
        x = x.conv(16, 3, pad="same").relu()
    return x.max_pool("all").flatten().linear(10).cross_entropy()


small = convolutions(4)
training, prediction = memlab.training_step(small, "sgd"), memlab.inference_step(small)
for batch in (1, 32):
    run = memlab.run(training, batch, keep="gradients")
    nbytes = sum(array.nbytes for array in run.gradients.values())
    print(f"batch {batch:2}: gradients {units.exact(nbytes)}, peak {units.exact(run.peak)}")
print(f"{small.parameters:,} parameters of 4 B: {units.exact(4 * small.parameters)}")

# %% [markdown]
# One gradient for each parameter, at any batch. `dW = dYᵀ X` is a product of matrices whose sum
# runs over the samples, so the mean is made while it is computed. It is the same mean:

# %%
pairs = [(2.0, 0.9), (-1.0, 0.1), (0.5, -0.4)]
alone = [run_layer(w1, w2, x, t).gradients["gradient of h.weight"] for x, t in pairs]
given = {"h.weight": [[w1]], "h.bias": [w2]}
xs, ts = np.array(pairs).T[..., None]
together = memlab.run(step, 3, xs, ts, given, keep="gradients")
at_once = together.gradients["gradient of h.weight"].item()
print(f"mean of 3 runs {np.mean(alone):.6f}   1 run of 3 samples {at_once:.6f}")

# %% [markdown]
# What does follow the batch is maps. What is alive at the peak, at batch 5?

# %%
at_peak = memlab.run(training, 5).measured.roles(5)
print("\n".join(f"{role:18} {nbytes:>10,} B" for role, nbytes in at_peak.items() if nbytes))

# %% [markdown]
# The images are small against the maps that are made from them, and parameters and maps have
# nothing to do with each other's size (A15). The workspace is 1 image, lowered, at any batch:
# lesson 03 is about it. The cells below leave it out, to count what is kept.
#
# Prediction runs forward alone. **Predict:** with the same batch of 5, how much smaller is its
# peak? And which other batches could it use?


# %%
def peak(step, batch):
    return memlab.run(step, batch).measured.peak(batch, workspace=False)


steps = {"training": training, "prediction": prediction}
peaks = {(name, batch): peak(steps[name], batch) for name in steps for batch in (1, 5)}
for (name, batch), nbytes in peaks.items():
    print(f"{name:10} batch {batch}: {units.both(nbytes)}")
print(f"nothing kept: {peaks['training', 5] / peaks['prediction', 5]:.2f} times less")
print(f"and batch 1:  {peaks['prediction', 5] / peaks['prediction', 1]:.2f} times less again")

# %% [markdown]
# Two reasons, and both are measured (D2):
#
# - **Nothing is kept.** A map is freed as soon as the next layer has read it, and no gradient is
#   made.
# - **Any batch will do.** A training step needs its batch for a good gradient. A prediction needs
#   no gradient, so the samples can come one by one. The batch was 5, and no other cause here
#   gives a ratio near 5. The parameters stay, so it is a little below 5.
#
# The first reason depends on the depth:

# %%
for depth in (2, 4, 8):
    net = convolutions(depth)
    both = memlab.training_step(net, "sgd"), memlab.inference_step(net)
    print(f"{depth} convolutions:", *(units.short(peak(made, 5)) for made in both))

# %% [markdown]
# **Change it.** Replace `"sgd"` by `"adam"` in the last cell. Why does so little change here, and
# for which networks would it be much? [Lesson 02](02_network.ipynb) answers.
#
# The real size, images of 224·224: set `REAL_SIZE = True`. A run that does not fit in your memory
# is refused before it begins.

# %% tags=["nbval-ignore-output"]
REAL_SIZE = False
if REAL_SIZE:
    print(memlab.run(memlab.training_step(zoo.resnet50()), batch=5, progress=True))
    print(memlab.run(memlab.inference_step(zoo.resnet50()), batch=5, progress=True))

# %% [markdown]
# ## Exercise: two layers of your own
#
# Worked: one layer from 1 to 1 feature in fp32, batch B. **Shapes:** x, y and t have B·1 values
# each. **Bytes:** 4 B for each value. **Lifetime:** when backward begins, x, y, t, the loss and
# the 2 parameters are alive. **Peak:** it comes later; here we stop when backward begins.

# %%
B, one = 10, memlab.training_step(zoo.linear1(), "sgd")
print(B * (1 + 1 + 1) * 4 + 4 + 2 * 4, "B, measured", memlab.run(one, B).before[3], "B")

# %% [markdown]
# Now 2 layers: 3 features, `linear(4)`, `tanh()`, `linear(2)`, `squared_error()`. Begin with
# `memlab.network("two", features=3)`. Write the network, and the bytes alive when backward begins.


# %% tags=["stub"]
def two_layers():
    return None  # replace None


def kept(batch):
    return None  # replace None


# %% tags=["solution"]
def two_layers():
    return memlab.network("two", features=3).linear(4).tanh().linear(2).squared_error()


def kept(batch):
    maps = batch * (3 + 4 + 2 + 2)  # x, the output of tanh, y, t
    parameters = (3 * 4 + 4) + (4 * 2 + 2)
    return (maps + parameters + 1) * 4  # and the loss


# %%
mine = two_layers() or zoo.linear1()
two = memlab.training_step(mine, "sgd")
begin = next(i for i, op in enumerate(two.ops) if op.phase == "backward")
for batch in np.random.default_rng().integers(2, 100, 3).tolist():
    print("agrees" if kept(batch) == memlab.run(two, batch).before[begin] else "not yet")

# %% [markdown]
# Then see where your network has its peak, planned and measured:

# %%
memlab.run(two, batch=5)

# %% [markdown]
# **Alone.** Put a second `tanh()` behind the first. Which map is kept in addition, and which is
# freed early? Say it before you run.

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
# - Prediction keeps nothing, and may take one sample at a time.
# - Planned equals measured, at every operation, to the byte.
#
# Next: [02 A whole network](02_network.ipynb). Where do ResNet-50's bytes go?
