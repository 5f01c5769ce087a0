# %% [markdown]
# # Appendix: how much memory does my network need?
#
# Belongs to: [02 A whole network](../02_network.ipynb).
#
# [An answer](https://datascience.stackexchange.com/questions/12649) that is often quoted works out
# a sum: 532,752 activations and 9,000 values of input per image, 19,072,984 parameters, batch 128,
# "742.34 MB". Its rule is that of the CS231n notes: activations twice, for their gradients;
# parameters 3 times, for gradients and a **step cache**, which is what the optimizer keeps; the
# input once.<sup>B1</sup>
#
# ## Does the sum come out?
#
# In MB of 1024² bytes, as it stands, and then with each term rounded first:

# %%
from math import prod

import memlab
from memlab import counting, units, zoo

activations, parameters, inputs, batch = 532_752, 19_072_984, 9_000, 128
maps, held, images = 8 * activations, 12 * parameters, 4 * inputs * batch
exact = [nbytes / 2**20 for nbytes in (maps, held, images)]
for digits in (5, 2):
    a, b, c = (round(term, digits) for term in exact)
    print(f"{a} * {batch} + {b} + {c} = {a * batch + b + c:.2f}")

# %% [markdown]
# The terms were rounded first, and one of them was then taken 128 times.<sup>B2</sup> And the unit?
# The answer divides by 1024², and says that this gives GB. It gives MiB:

# %%
total = maps * batch + held + images
print(units.exact(total), *(units.in_unit(total, unit) for unit in ("MB", "MiB", "GB", "GiB")))

# %% [markdown]
# ## Is it 3 times the parameters?
#
# The answer says 3, whatever the optimizer. How many arrays as large as the parameters does a step
# hold, with gradients and what the optimizer keeps?

# %%
for optimizer in counting.COPIES:
    roles = memlab.plan(memlab.training_step(zoo.mnist_cnn(), optimizer)).roles(1)
    state = roles["optimizer_state"] // roles["parameter"]
    rule = counting.bound_parts(activations, parameters, inputs, batch, 2 + state)
    print(f"{optimizer:9} {2 + state} times, the sum {sum(rule.values()) / 2**20:.2f} MiB")

# %% [markdown]
# ## Is it 2 times the activations?
#
# A gradient map is freed as backward goes on, and so is the map that it belongs to. And what counts
# as an activation? The notes list outputs of convolutions, poolings and linear layers, as if a ReLU
# wrote over its input. Or is it every output? All maps and gradient maps of ResNet-50 that are
# alive at its peak, batch 32, beside 2 times each count:

# %%
resnet, rule = zoo.resnet50(variant="v1"), counting.find("cs231n")
roles = memlab.plan(memlab.training_step(resnet)).roles(32)
alive = roles["feature_map"] + roles["gradient_map"]
for counts in (rule, counting.find("everything")):
    twice = 2 * 4 * 32 * counts.values(resnet)
    print(f"{units.short(alive)} of {units.short(twice)}: {alive / twice:.3f}  {counts.title}")

# %% [markdown]
# Twice every output is a bound, and far too much. Twice the table is an estimate: it leaves out
# what batch norm and ReLU keep, and counts gradients that are not there at once.
#
# The notes end their table of VGG-16 with two totals: the values of an image<sup>B3</sup> and the
# parameters.<sup>B4</sup> Its columns, added up:

# %%
for row in (*memlab.claims.find("B3"), *memlab.claims.find("B4")[:1]):
    print(row)

# %% [markdown]
# The parameters are right; the total of the values is not the sum of its column.
#
# ## Exercise: how much does yours need?
#
# The answer tells its readers to do this for a network of their own.
#
# **Blanks.** Each number in `kernels` is a convolution with so many kernels of 5·5 and padding 2, a
# ReLU, and a pooling of 2·2; each number in `features` a linear layer. Count activations and
# parameters, the biases too.

# %%
from memlab import lesson

exercise = lesson.exercise("02.counted")
exercise.show()


# %% tags=["stub"]
def counted(image, kernels, features):
    channels, rows, columns = image
    activations = parameters = 0
    for n in kernels:
        parameters += ...  # n kernels, each over all channels, and n biases
        activations += n * rows * columns
        channels, rows, columns = n, rows // 2, columns // 2
        activations += ...  # after the pooling
    inputs = channels * rows * columns
    for n in features:
        parameters += ...  # a linear layer: so many inputs, n outputs
        activations += ...
        inputs = n
    return activations, parameters


# %% tags=["solution"]
def counted(image, kernels, features):
    channels, rows, columns = image
    activations = parameters = 0
    for n in kernels:
        parameters += n * (25 * channels + 1)
        activations += n * rows * columns
        channels, rows, columns = n, rows // 2, columns // 2
        activations += n * rows * columns
    inputs = channels * rows * columns
    for n in features:
        parameters += n * (inputs + 1)
        activations += n
        inputs = n
    return activations, parameters


# %%
exercise.check(counted)

# %% [markdown]
# **Alone.** Then the 4 parts of the rule, for any optimizer:

# %%
exercise = lesson.exercise("02.four_parts")
exercise.show()


# %% tags=["stub"]
def four_parts(activations, parameters, inputs, batch, optimizer):
    return None  # replace None: 4 numbers of bytes


# %% tags=["solution"]
def four_parts(activations, parameters, inputs, batch, optimizer):
    copies = {"sgd": 2, "momentum": 3, "adagrad": 3, "rmsprop": 3, "adam": 4}[optimizer]
    maps = 4 * activations * batch
    return maps, maps, 4 * copies * parameters, 4 * inputs * batch


# %%
exercise.check(four_parts)

# %% [markdown]
# **Yours.** Put your own network into the first line, or write another `mine`. Once the blanks are
# filled, `counted(image, kernels, features)` gives what memlab counts.

# %%
image, kernels, features = (3, 32, 32), [32, 64], [256, 10]

x = memlab.network("mine", image=image)
for n in kernels:
    x = x.conv(n, kernel=5, pad=2).relu().max_pool(2)
x = x.flatten()
for n in features[:-1]:
    x = x.linear(n).relu()
mine = x.linear(features[-1]).cross_entropy()

# %%
batch, optimizer, inputs = 128, "adam", prod(mine.input_shape)
values = rule.values(mine) - inputs
print(f"memlab counts {values} activations and {mine.parameters} parameters")
yours = four_parts(values, mine.parameters, inputs, batch, optimizer) or 4 * ["?"]
roles = memlab.plan(memlab.training_step(mine, optimizer)).roles(batch)
arrays = [roles[role] for role in ("parameter", "parameter_gradient", "optimizer_state")]
planned = [roles["feature_map"], roles["gradient_map"], sum(arrays), roles["input"]]
names = ("activations", "their gradients", "as large as parameters", "input")
print(f"{'bytes':22} {'by your rule':>14} {'at the peak':>14}")
for name, one, other in zip(names, yours, planned, strict=True):
    print(f"{name:22} {one:>14} {other:>14}")
print(f"{'workspace':22} {'':14} {roles['workspace']:>14}")

# %% [markdown]
# How near is the rule? Planned peak over the rule, with Adam:

# %%
for name in ("mnist_cnn", "vgg16", "resnet50", "googlenet"):
    net = zoo.build(name)
    plan = memlab.plan(memlab.training_step(net, "adam"))
    sums = {b: sum(rule.total_bytes(net, b, "adam").values()) for b in (1, 8, 128)}
    print(f"{name:10}", *(f"batch {b}: {plan.peak(b) / nbytes:.2f} " for b, nbytes in sums.items()))

# %% [markdown]
# Near at batch 1. At a large batch the rule can be far too high. It is no bound either: at batch 1
# two networks need more, because of a workspace. And it does not tell what is alive when.
#
# A blogger's notes name one more source: "ConvNets in practice" (Stanford, 2016), the eleventh
# lecture of CS231n. It tells, too, how convolutions are computed, as lesson 03 does.
#
# Sources: B1, B2, B3, B4.

# %% tags=["numbers"]
{
    "742.34 MB": "round(8 * 532_752 / 2**20, 2) * 128 + round(12 * 19_072_984 / 2**20, 2) + "
    "round(4 * 9_000 * 128 / 2**20, 2)",
}
