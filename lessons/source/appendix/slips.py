# %% [markdown]
# # Appendix: which slips does a run find in a text?
#
# Belongs to: [01 One linear layer](../01_linear.ipynb).
#
# A Chinese post (2017) works out the step of the single layer by hand: `h = w1 x + w2`, `y = f(h)`,
# `E = (y - t)²`. Let f be tanh. Then y' = 1 - y², and its 2 gradients are
#
# - 2 (y - t) · y' · x,
# - 2 (y - t) · y'.
#
# The text calls both of them dE/dw1, and its update adds: w ← w + η dE/dw.<sup>A1</sup> Both are
# slips of the pen. How would a reader find them, without knowing the answer?

# %%
import numpy as np

import memlab
from memlab import zoo

x, t, w1, w2, eta = 2.0, 0.9, 0.4, -0.1, 0.1
y = np.tanh(w1 * x + w2)
with_x, without_x = 2 * (y - t) * (1 - y**2) * x, 2 * (y - t) * (1 - y**2)
print(f"y = {y:.4f}, t = {t}, with x {with_x:.6f}, without x {without_x:.6f}")

# %% [markdown]
# ## Which of the two is dE/dw1?
#
# Move w1 a little, and see how E answers. `keep="gradients"` keeps what a step frees after the
# update, so that we can read it.

# %%
step = memlab.training_step(zoo.linear1(), optimizer="sgd", format="fp64")


def run_layer(w1, w2, x=x, t=t):
    given = {"h.weight": [[w1]], "h.bias": [w2]}
    return memlab.run(step, 1, [[x]], [[t]], given, settings={"rate": eta}, keep="gradients")


little = 1e-6
change = run_layer(w1 + little, w2).loss - run_layer(w1 - little, w2).loss
found = run_layer(w1, w2).gradients["gradient of h.weight"].item()
print(f"measured {change / (2 * little):.6f}, computed by the step {found:.6f}")

# %% [markdown]
# The one with x. The other is dE/dw2: the bias is added as it is, so nothing stands in for x. At
# x = 1 both are the same number, and no test at that x can tell them apart.
#
# ## Plus or minus?
#
# Repeat the update 6 times, once with each sign.

# %%
for sign in (-1, +1):
    a, b, losses = w1, w2, []
    for _ in range(6):
        again = run_layer(a, b)
        losses.append(again.loss)
        ga, gb = (array.item() for array in again.gradients.values())
        a, b = a + sign * eta * ga, b + sign * eta * gb
    print(f"{sign:+}", " ".join(f"{loss:.4f}" for loss in losses))

# %% [markdown]
# With a plus the error grows. The gradient points to where E rises; a step has to go the other
# way.
#
# ## Is one run of 3 samples the mean of 3 runs?
#
# An answer to [question 12649](https://datascience.stackexchange.com/questions/12649) says that the
# gradients of the samples are accumulated in a vector, and averaged.<sup>B5</sup> That is no slip.
# But it can be read as: a step keeps a gradient for each sample. Lesson 01 counts one for each
# parameter. Is the mean the same?

# %%
pairs = [(2.0, 0.9), (-1.0, 0.1), (0.5, -0.4)]
alone = [run_layer(w1, w2, x, t).gradients["gradient of h.weight"].item() for x, t in pairs]
given, (xs, ts) = {"h.weight": [[w1]], "h.bias": [w2]}, np.array(pairs).T[..., None]
together = memlab.run(step, 3, xs, ts, given, keep="gradients").gradients
at_once = together["gradient of h.weight"].item()
print(f"mean of 3 runs {np.mean(alone):.6f}, 1 run of 3 samples {at_once:.6f}")

# %% [markdown]
# It is. The sum over the samples runs inside the matrix product that makes the gradient.
#
# Sources: A1, B5.
