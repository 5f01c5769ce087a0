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
# Words: [convolution](glossary.md), [feature map](glossary.md), [floor](glossary.md),
# [mountain](glossary.md), [optimizer state](glossary.md), [counting rule](glossary.md).

# %%
import memlab
from memlab import counting, lesson, units, views, zoo

views.memory("alexnet", networks=("alexnet",), batch=64, rules=False)

# %% [markdown]
# This is one training step of AlexNet, from left to right: forward, loss, backward, update.
# Move **Batch**. One part of the picture grows and the other stays. This lesson says why.

# %% [markdown]
# ## Four questions give every byte of a convolution
#
# `mnist_cnn` reads handwritten digits. The layers say what goes in and what comes out.

# %%
mnist = zoo.mnist_cnn()
print(mnist.table())

# %%
output = lesson.predict("02.output")
output

# %% tags=["solution"]
output.guess("0.2 MB").reveal()

# %% [markdown]
# That was `conv1`. The first two questions: **shapes**, a product of the extents; **bytes**, 4 for
# each fp32 value.

# %%
batch, channels, height, width = 32, 64, 28, 28
if output.answered():
    nbytes = batch * channels * height * width * 4
    print(units.exact(nbytes), "=", units.both(nbytes))

# %% [markdown]
# **Lifetime.** When is each block made, and who needs it last?

# %%
ledger = memlab.plan(memlab.training_step(mnist))
if output.answered():
    print(ledger.of("conv1", batch))
    print(ledger.of("conv1.relu", batch))
    print(ledger.of("input", batch))

# %% [markdown]
# In a formula, B is the batch; C, H and W are the channels, height and width of that array. The
# weight of a convolution has K kernels of C·k·k values, that of a linear layer K·F: features that
# come out and go in. Ho and Wo are the height and width of the output.
#
# The output of `conv1` is gone as soon as its ReLU has ended. Backward needs the output of the
# **ReLU** instead, and `conv1` needs its own **input** again, for the gradient of its weights.
#
# The workspace is 1 image, lowered to a matrix (im2col). It lives inside 1 operation, and it does
# not grow with the batch. Lesson 03 is about it.
#
# **Peak.** The operation in which most is alive:

# %%
if output.answered():
    print(ledger.why(batch).text(5))

# %% [markdown]
# **Change it.** Set `batch` to 64 in the cell under **bytes**, and run from there down to here.
# Which lines double? Which stay the same, and why?

# %% [markdown] tags=["solution"]
# **Answer.** Lines with B in their formula double. Parameters, their gradients, the optimizer's
# state and the workspace have no B.

# %% [markdown]
# ## What half a batch saves depends on the floor

# %%
halve = lesson.predict("02.halve")
halve

# %% tags=["solution"]
halve.guess(2).reveal()

# %%
if halve.answered():
    vgg = views.memory("vgg16", networks=("vgg16",), batch=8, optimizer="adam")
    vgg.batch = 4
    display(vgg)

# %% [markdown]
# The dashed outline is batch 8. At every operation the mountain is halved. But the floor, below
# the thick line, stays as it was: parameters, their gradients, the optimizer's state.
# Adam keeps 2 values for each parameter, and with the parameter and its gradient that makes
# 4 arrays of 4 bytes:

# %%
floor = 4 * 4 * zoo.vgg16().parameters
print("4 arrays:", units.both(floor))
if halve.answered():
    small = views.memory("vgg16", batch=4, optimizer="adam")
    print(*small.rows.sentences[:2], sep="\n")

# %% [markdown]
# The peak moved to another operation. **That** one has a higher floor, because its workspace is
# larger, and a smaller mountain. So the floor in the headline changed, although no operation's
# floor did. Why was this operation not the peak at batch 8? Set **Batch** to 8 in the view and go
# to it with → to see.

# %% [markdown] tags=["solution"]
# **Answer.** At batch 8 the mountain is twice as high. At the operation of the old peak the
# mountain is larger than here, and that counted for more than this workspace.

# %%
resnet = lesson.predict("02.resnet")
resnet

# %% tags=["solution"]
resnet.guess("1.1").reveal()

# %%
if resnet.answered():
    view = views.memory("resnet50", networks=("resnet50", "vgg16"), batch=32)
    view.batch = 16
    display(view)

# %% [markdown]
# ResNet-50 has few parameters and many maps, so almost all of its bytes are mountain.
# "Double the batch and the memory doubles" is a claim about the mountain alone. In memlab's list
# of claims it has the number A12.doubling:

# %%
plan = memlab.plan(memlab.training_step(zoo.resnet50()))
for b in (1, 2, 16, 32, 64) if resnet.answered() else ():
    print(f"batch {b:2} to {2 * b:3}: the peak grows {plan.peak(2 * b) / plan.peak(b):.3f} times")
if resnet.answered():
    for role, nbytes in plan.roles(32).items():
        print(f"{role:18} {nbytes / plan.peak(32):6.1%} of the peak at batch 32")

# %% [markdown]
# **Surprising** and **Break it** are two more examples, and **Start** goes back.
#
# **Change it.** Choose VGG-16 in the view above, open **More** and set Adam. Find the first batch
# at which the mountain is larger than the floor.

# %% [markdown] tags=["solution"]
# **Answer.** Type batches into the box: it is near the floor divided by what one image adds.

# %% [markdown]
# ## One network has many totals, because each text counts other things
#
# A text that many quote (J. Hanlon, Graphcore, 2017) says that ResNet-50 has 26M parameters and 16M
# activations, together 168 MB. At batch 32 it counts over 2 GB of activations (A5).

# %%
total = lesson.predict("02.total")
total

# %% tags=["solution"]
total.guess("1.0").reveal()

# %%
if total.answered():
    both = ("resnet50", "vgg16")
    display(views.memory("resnet50", networks=both, batch=32, rule="conv-sums"))

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
# **Answer.** MiB. And its parameters hold the running statistics of batch norm too.

# %% [markdown]
# ## Exercise: from one layer to the largest batch
#
# **Worked.** `conv1` above. **Shapes:** with padding 2 a window of 5 fits at 28 places in each
# direction, and 64 kernels give 64 channels. **Bytes:** 4 for each of 32·64·28·28 values.
# **Lifetime:** until its ReLU has ended. **Peak:** at that moment its output and the ReLU's are
# both alive.
#
# **With blanks.** Any convolution:

# %%
exercise = lesson.exercise("02.output_bytes")
exercise.show()


# %% tags=["stub"]
def output_bytes(batch, channels, size, kernels, k, stride, pad):
    rows = ...  # at how many places does a window of k fit?
    return None  # replace None


# %% tags=["solution"]
def output_bytes(batch, channels, size, kernels, k, stride, pad):
    rows = (size + 2 * pad - k) // stride + 1
    return 4 * batch * kernels * rows * rows


# %%
exercise.check(output_bytes)

# %% [markdown]
# **Alone.** Every operation has its own floor and its own mountain. For one operation, with 1000
# bytes of memory, a floor of 100 and 70 per image, the batch is at most 12:

# %%
for b in (12, 13):
    print(b, 100 + 70 * b, 100 + 70 * b <= 1000)

# %% [markdown]
# Now for many operations:

# %%
exercise = lesson.exercise("02.largest_batch")
exercise.show()


# %% tags=["stub"]
def largest_batch(memory, fixed, each):
    return None  # replace None


# %% tags=["solution"]
def largest_batch(memory, fixed, each):
    return min((memory - a) // b for a, b in zip(fixed, each, strict=True) if b)


# %%
exercise.check(largest_batch)

# %% [markdown]
# Your function answers for ResNet-50, as `memlab fit resnet50 --memory 12GB` does:

# %%
fixed, each = (line.tolist() for line in plan.line())
for budget in ("4 GB", "12 GB", "24 GB"):
    print(budget, largest_batch(units.parse(budget), fixed, each))

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
# Next: [03 Lowering](03_lowering.ipynb). What is in the workspace, and must it be there?

# %% tags=["numbers"]
{"2 GB": "32 * 4 * counting.find('conv-sums').values(zoo.resnet50())"}
