# %% [markdown]
# # Appendix: how much memory does my network need?
#
# Belongs to: [02 A whole network](../02_network.ipynb).
#
# [An answer](https://datascience.stackexchange.com/questions/12649) that is often quoted computes a
# total: 532,752 activations and 9,000 input values per image, 19,072,984 parameters, batch 128,
# "742.34 MB". It uses the rule of the CS231n notes. Activations count twice, because they have
# gradients. Parameters count 3 times, for gradients and a **step cache**, the state of the
# optimizer. The input counts once.<sup>B1</sup>
#
# ## Is the total computed correctly?
#
# In units of 1024² bytes. The first line takes the exact terms, the second rounds each term first:

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
# The answer rounded the terms first, and then took one of them 128 times.<sup>B2</sup> What is the
# unit? The answer writes MB, but says that dividing by 1024² gives GB. It gives MiB:

# %%
total = maps * batch + held + images
print(units.exact(total), *(units.in_unit(total, unit) for unit in ("MB", "MiB", "GB", "GiB")))

# %% [markdown]
# ## Is it 3 times the parameters?
#
# The answer says 3 for every optimizer. How many arrays of the parameters' size does a step
# hold: parameters, gradients and the state of the optimizer?

# %%
for optimizer in counting.COPIES:
    roles = memlab.plan(memlab.training_step(zoo.mnist_cnn(), optimizer)).roles(1)
    state = roles["optimizer_state"] // roles["parameter"]
    rule = counting.bound_parts(activations, parameters, inputs, batch, 2 + state)
    print(f"{optimizer:9} {2 + state} times, the sum {sum(rule.values()) / 2**20:.2f} MiB")

# %% [markdown]
# ## Is it 2 times the activations?
#
# During backward, gradient maps are freed, and so are the feature maps that they belong to. And
# what is an activation? The notes count the outputs of convolutions, poolings and linear layers, as
# if a ReLU wrote over its input. Another rule counts every output. Compare the feature maps and
# gradient maps of ResNet-50 that are alive at its peak (batch 32) with 2 times each count:

# %%
resnet, rule = zoo.resnet50(variant="v1"), counting.find("cs231n")
roles = memlab.plan(memlab.training_step(resnet)).roles(32)
alive = roles["feature_map"] + roles["gradient_map"]
for counts in (rule, counting.find("everything")):
    twice = 2 * 4 * 32 * counts.values(resnet)
    print(f"{units.short(alive)} of {units.short(twice)}: {alive / twice:.3f}  {counts.title}")

# %% [markdown]
# Twice every output is an upper bound, but far too large. Twice the count of the notes is an
# estimate: it leaves out what batch norm and ReLU keep, and it counts gradients that are not alive
# at the same time.
#
# The notes end their table of VGG-16 with two totals: the values kept for an image<sup>B3</sup> and
# the parameters.<sup>B4</sup> Here the columns of the table are added up again:

# %%
for row in (*memlab.claims.find("B3"), *memlab.claims.find("B4")[:1]):
    print(row)

# %% [markdown]
# The parameters are right; the total of the values is not the sum of its column.
#
# ## Exercise: how much does your network need?
#
# The answer asks its readers to do this for their own network.
#
# **Fill in the blanks.** Each number in `kernels` stands for a convolution with that many kernels
# of 5·5 and padding 2, a ReLU, and a pooling of 2·2. Each number in `features` stands for a linear
# layer. Count the activations and the parameters, with the biases.

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
# **Alone.** Compute the 4 parts of the rule, for any optimizer:

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
# **Your network.** Write your own network into the first line, or define another `mine`. When the
# blanks are filled in, `counted(image, kernels, features)` returns the numbers that memlab counts.

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
# How close is the rule? Each number is the planned peak divided by the rule, with Adam:

# %%
for name in ("mnist_cnn", "vgg16", "resnet50", "googlenet"):
    net = zoo.build(name)
    plan = memlab.plan(memlab.training_step(net, "adam"))
    sums = {b: sum(rule.total_bytes(net, b, "adam").values()) for b in (1, 8, 128)}
    print(f"{name:10}", *(f"batch {b}: {plan.peak(b) / nbytes:.2f} " for b, nbytes in sums.items()))

# %% [markdown]
# The rule is close at batch 1. At a large batch it can be far too high. It is not an upper bound
# either: at batch 1 two networks need more, because of a workspace. And it does not say when an
# array is alive.
#
# A blogger names one more source on this topic: "ConvNets in practice" (Stanford, 2016), the
# eleventh lecture of CS231n. It also explains how convolutions are computed, as lesson 03 does.
#
# Sources: B1, B2, B3, B4.

# %% tags=["numbers"]
{
    "742.34 MB": "round(8 * 532_752 / 2**20, 2) * 128 + round(12 * 19_072_984 / 2**20, 2) + "
    "round(4 * 9_000 * 128 / 2**20, 2)",
}
