# %% [markdown]
# # 02 A whole network: where do ResNet-50's bytes go, and why do published totals differ?
#
# 45 minutes. Needs: [01 One linear layer](01_linear.ipynb).
#
# You will be able to
#
# - work out the bytes of a convolution on paper: shapes, bytes, lifetime, peak,
# - say which bytes grow with the batch, and find the operation at the peak,
# - tell what a published total counts, and what it leaves out.
#
# Words you do not know are in the [glossary](glossary.md).

# %%
import memlab
from memlab import counting, units, views, zoo

views.network_memory("mnist_cnn", networks=("mnist_cnn",), batch=64, rules=False)

# %% [markdown]
# This is one training step, from left to right: forward, loss, backward, update.
# Move **Batch**. One part of the picture grows and the other stays. This lesson says why.

# %% [markdown]
# ## Four questions give every byte of a convolution
#
# `conv1` turns an image of 1·28·28 values into a map of 64·28·28 values. The batch is 32.
# **Predict:** how many MB does its output take? Write your guess down.
#
# **Shapes.** The layers say what goes in and what comes out.

# %%
mnist = zoo.mnist_cnn()
print(mnist.table())

# %% [markdown]
# **Bytes.** A product of the extents, and 4 bytes for each fp32 value.

# %%
batch, channels, height, width = 32, 64, 28, 28
output = batch * channels * height * width * 4
print(units.exact(output), "=", units.both(output))

# %% [markdown]
# Was your guess exactly 32 times smaller? Then it was for one image. 4 times smaller? Then you
# counted values, not bytes.
#
# **Lifetime.** When is each block made, and who needs it last?

# %%
ledger = memlab.plan(memlab.training_step(mnist))
print(ledger.of("conv1", batch))
print(ledger.of("conv1.relu", batch))
print(ledger.of("input", batch))

# %% [markdown]
# In a formula, B is the batch; C, H and W are the channels, height and width of that array; a
# weight has K kernels of C·k·k values.
#
# The output of `conv1` is gone as soon as its ReLU has ended. Backward needs the output of the
# **ReLU** instead, and `conv1` needs its own **input** again, for the gradient of its weights.
#
# The workspace is 1 image, lowered to a matrix (im2col). It lives inside 1 operation, and it does
# not grow with the batch. Lesson 03 is about it.
#
# **Peak.** The operation in which most is alive:

# %%
print(ledger.why(batch).text(5))

# %% [markdown]
# **Change it.** Set `batch` to 64 in the cell under **Bytes**, and run from there down to here.
# Which lines double? Which stay the same, and why?

# %% [markdown] tags=["solution"]
# **Answer.** Lines with B in their formula double. Parameters, their gradients, the optimizer's
# state and the workspace have no B.

# %% [markdown]
# ## The floor stays, the mountain follows the batch
#
# You train VGG-16 with Adam, and you halve the batch from 8 to 4.
# **Predict:** how much does the peak fall? By half, by a third, or by less than a tenth?

# %%
vgg = views.network_memory("vgg16", networks=("vgg16", "resnet50"), batch=8, optimizer="adam")
vgg.batch = 4
vgg

# %% [markdown]
# The dashed outline is batch 8. At every operation the mountain is halved. But the floor, below
# the thick line, stays as it was: parameters, their gradients, the optimizer's state.
# Adam keeps 2 values for each parameter, and with the parameter and its gradient that makes
# 4 arrays of 4 bytes:

# %%
floor = 4 * 4 * zoo.vgg16().parameters
print("4 arrays:", units.both(floor))
print(vgg.text().split("\n\n")[0])

# %% [markdown]
# The peak moved to another operation, and the floor of **that** operation is higher: it holds a
# workspace too, while the gradient of the first layer is not made yet. So the floor in the headline
# changed, although no operation's floor did. Why was this operation not the peak at batch 8?
# %% [markdown] tags=["solution"]
# **Answer.** At batch 8 the mountain is twice as high. At the operation of the old peak the
# mountain is larger than here, and that counted for more than this workspace.

# %% [markdown]
# Now ResNet-50. **Predict:** its batch goes from 32 to 16. Does the peak fall by nearly half, or
# hardly at all?

# %%
resnet = views.network_memory("resnet50", networks=("resnet50", "vgg16"), batch=32)
resnet.batch = 16
resnet

# %% [markdown]
# ResNet-50 has few parameters and many maps, so almost all of its bytes are mountain.
# "Double the batch and the memory doubles" is a claim about the mountain alone. In memlab's list
# of claims it has the number A12.doubling:

# %%
plan = memlab.plan(memlab.training_step(zoo.resnet50()))
for b in (1, 2, 16, 32, 64):
    print(f"batch {b:2} to {2 * b:3}: the peak grows {plan.peak(2 * b) / plan.peak(b):.3f} times")

# %% [markdown]
# **Change it.** Choose VGG-16 in the view above, open **More** and set Adam. Find the first batch
# at which the mountain is larger than the floor. Then read the rows below the picture: in which
# order do the stages begin, and in which do they end?

# %% [markdown] tags=["solution"]
# **Answer.** Type batches into the box: it is near the floor divided by what one image adds. The
# stage that begins first ends last, because backward walks the layers in reverse.

# %% [markdown]
# ## One network has many totals, because each text counts other things
#
# A text that many quote (J. Hanlon, Graphcore, 2017) says that ResNet-50 has 26M parameters and 16M
# activations, together 168 MB.
# **Predict:** its 16M activations at batch 32 are about 2 GB. Is the peak of our plan higher or
# lower, and why? Write one reason down.

# %%
views.network_memory("resnet50", networks=("resnet50", "vgg16"), batch=32, rule="conv-sums")

# %% [markdown]
# A counting rule changes no bar: it draws an outline. What is inside the outline is counted; what
# is outside may be alive as well. And a part of what is counted was freed before the peak.
#
# The same network under every rule, per image:

# %%
net = zoo.resnet50()
for rule in counting.CONVENTIONS.values():
    values = rule.values(net)
    print(f"{rule.name:14} {values:>11,} values  {units.short(4 * values):>7}  {rule.title}")

# %% [markdown]
# None of these is wrong. But a total without its rule cannot be checked. And two texts can differ
# by the unit alone: memlab keeps a list of published figures, each computed again.

# %%
for claim in memlab.claims.find("A4"):
    print(f"{claim.claim}\n    {claim.verdict}: {claim.result}")

# %% [markdown]
# **Change it.** Replace "A4" by "B6" and run the cell. B6 is a table by S. Albanie, convnet-burden.
# Its columns say MB. What should they say?

# %% [markdown] tags=["solution"]
# **Answer.** MiB.

# %% [markdown]
# ## Exercise: the largest batch that fits
#
# At one operation the step needs `fixed + batch * each` bytes: the floor there, and what one image
# adds. With 1,000 bytes of memory, a floor of 100 and 70 per image, the batch is at most 12:
# 100 + 12·70 = 940 fits, and 100 + 13·70 = 1,010 does not.
#
# Every operation has its own floor and its own mountain. Complete the function: the largest batch
# that fits at **every** operation. `fixed` and `each` are lists with one number per operation.


# %% tags=["stub"]
def largest_batch(memory, fixed, each):
    return None  # replace None


# %% tags=["solution"]
def largest_batch(memory, fixed, each):
    return min((memory - a) // b for a, b in zip(fixed, each, strict=True) if b)


# %%
fixed, each = (line.tolist() for line in plan.line())
for budget in ("4 GB", "12 GB", "24 GB"):
    memory = units.parse(budget)
    right = largest_batch(memory, fixed, each) == plan.fit(memory).batch
    print(budget, "agrees with the plan" if right else "not yet")

# %% [markdown]
# **Alone.** Take `conv2` of `mnist_cnn` through the four questions on paper: shapes, bytes,
# lifetime, peak. Then check with `ledger.of("conv2", 32)`.

# %% [markdown]
# ## What this plan leaves out
#
# - It counts the arrays of the step. Memory that a library keeps for itself is not in it.
# - Other frameworks choose otherwise: which arrays backward needs, which workspace a convolution
#   takes, when a gradient is freed. Then the peak differs, and the way to find it is the same.
# - A plan has bytes and no seconds.

# %% [markdown]
# ## Key points
#
# - Shapes, bytes, lifetime, peak: four questions, in this order, for any layer.
# - The peak is the floor plus the mountain at **one** operation. Only the mountain follows the
#   batch.
# - A large floor (VGG-16 with Adam) makes a smaller batch nearly useless; a large mountain
#   (ResNet-50) makes it the first thing to try.
# - A published total means something once you know its rule and its unit.
#
# Back to [01 One linear layer](01_linear.ipynb). On the command line,
# `memlab fit resnet50 --memory 12GB` answers the exercise for any network.
