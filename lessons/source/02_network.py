# %% [markdown]
# # 02 A whole network: where do ResNet-50's bytes go, and why do published totals differ?
#
# 45 minutes. Needs: [01 One linear layer](01_linear.ipynb).
#
# You will be able to
#
# - say of every array around a convolution how many bytes it takes, and how long it waits,
# - say what a smaller batch buys for a network, before you try,
# - work out the largest batch that fits.
#
# Words: [convolution](glossary.md), [workspace](glossary.md), [floor](glossary.md),
# [mountain](glossary.md), [optimizer state](glossary.md), [counting rule](glossary.md).

# %% [markdown]
# Two questions about the lesson before:

# %%
from memlab import lesson

lesson.recall("02.reads")

# %% tags=["solution"]
lesson.recall("02.reads").guess("both").reveal()

# %%
lesson.recall("02.inference")

# %% tags=["solution"]
lesson.recall("02.inference").guess("next").reveal()

# %% [markdown]
# One training step of AlexNet, from left to right. Move **Batch**: what grows, and what stays?

# %%
import memlab
from memlab import units, views, zoo

views.memory("alexnet", batch=64, only=("batch",))

# %% [markdown]
# ## What does a convolution leave for backward?
#
# A layer for handwritten digits of 28·28 pixels: 64 kernels of 5·5, and then a ReLU.

# %%
image = memlab.network("digits", image=(1, 28, 28))
conv1 = image.conv(64, kernel=5, pad=2, name="conv1")
digits = conv1.relu(name="relu").max_pool("all").flatten().cross_entropy()

# %%
output = lesson.predict("02.output")


@output.then
def lifetimes():
    return views.memory(digits, batch=32, optimizer="sgd", only=("batch",))


output

# %% tags=["solution"]
output.guess("12.8 MB", because="backward may need both").revise("6.4 MB").reveal()

# %%
lesson.change("02.twice")

# %% tags=["solution"]
lesson.change("02.twice").guess("workspace").reveal()

# %% [markdown]
# ## What does half a batch save?
#
# VGG-16 ends in 3 large linear layers.

# %%
halve = lesson.predict("02.halve")


@halve.then
def half_of_vgg():
    vgg = views.memory("vgg16", batch=8, optimizer="adam", only=("batch", "optimizer"))
    vgg.batch = 4
    return vgg


halve

# %% tags=["solution", "picture-vgg"]
halve.guess(2, because="half the images, half the bytes").revise("1.1").reveal()

# %% [markdown]
# ResNet-50 ends in one small linear layer.

# %%
resnet = lesson.predict("02.resnet")


@resnet.then
def half_of_resnet():
    view = views.memory("resnet50", batch=32, only=("batch", "optimizer"))
    view.batch = 16
    return view


resnet

# %% tags=["solution", "picture-resnet"]
resnet.guess("1.1").revise("1.9").reveal()

# %% [markdown]
# ## Does a published total say what fits?
#
# A text that many quote (Graphcore, 2017) says that ResNet-50 has 26M parameters and 16M
# activations,<sup>A4</sup> and at batch 32 over 2 GB of activations.<sup>A5</sup>
#
# It counts **v1**; elsewhere ResNet-50 is torchvision's v1.5.

# %%
total = lesson.predict("02.total")


@total.then
def counted():
    return views.memory("resnet50-v1", batch=32, rule="conv-sums", only=("batch",))


total

# %% tags=["solution"]
total.guess("both").revise("convolutions").reveal()

# %% [markdown]
# Other texts count by other rules, from 10.6M to 36.1M values per image. More:
# [counting rules](appendix/counting_rules.ipynb), [round figures](appendix/figures.ipynb),
# [3 totals of VGG-16](appendix/totals.ipynb). Do it for your own network: [the rule that is
# quoted](appendix/thumb_rule.ipynb).

# %% [markdown]
# ## Exercise: which batch fits?
#
# **Worked.** VGG-16 with Adam. **Shapes** and **bytes:** of every array the plan knows what is
# fixed, and what each image adds. **Lifetime:** it adds up what is alive in each operation. Here
# are operations 56 and 75: their floor, what an image adds, and the largest batch in 2 sizes of
# memory.

# %%
plan = memlab.plan(memlab.training_step(zoo.vgg16(), "adam"))
fixed, each = (line.tolist() for line in plan.line())
for at in (56, 75):
    batches = [(units.parse(memory) - fixed[at]) // each[at] for memory in ("2.4 GB", "4 GB")]
    print(plan.rows[at].name, units.short(fixed[at]), units.short(each[at]), batches)

# %% [markdown]
# **Peak:** it has to fit in every operation. In 2.4 GB the second one decides, and the batch is 1.
# In 4 GB the first one does, and the batch is 28.
#
# **Alone.** Now for all operations of any network:

# %%
exercise = lesson.exercise("02.largest_batch")
exercise.show()


# %% tags=["stub"]
def largest_batch(memory, fixed, each):
    return None  # replace None


# %% tags=["solution"]
def largest_batch(memory, fixed, each):
    if memory < max(fixed):
        return 0  # below the floor
    return min((memory - a) // b for a, b in zip(fixed, each, strict=True) if b)


# %%
exercise.check(largest_batch)

# %% [markdown]
# Your function answers for the ResNet-50 of the case, v1.5:

# %%
lines = memlab.plan(memlab.training_step(zoo.resnet50())).line()
for memory in ("4 GB", "12 GB", "24 GB"):
    print(memory, largest_batch(units.parse(memory), *(line.tolist() for line in lines)))

# %% [markdown]
# ## What this plan leaves out
#
# - It counts the arrays of the step, and no memory that a library keeps for itself.
# - Other frameworks choose otherwise which arrays backward needs, which workspace a convolution
#   takes, when a gradient is freed. The way to find the peak is the same.
#
# Sources: A4, A5.

# %% [markdown]
# ## The case so far

# %%
lesson.predict("02.case")

# %% tags=["solution"]
lesson.predict("02.case").guess(2).revise(3).reveal()

# %% [markdown]
# ## Key points
#
# - Shapes, bytes, lifetime, peak: 4 questions, in this order, for any layer.
# - The peak is the floor plus the mountain at **one** operation. Only the mountain follows the
#   batch.
# - A large floor (VGG-16 with Adam, batch 8) makes a smaller batch nearly useless. A large mountain
#   (ResNet-50, or a [larger batch](appendix/lean_networks.ipynb)) makes it the first thing to try.
# - A published total means something once you know its rule and its unit.
#
# Next: [07 In place and sharing](07_sharing.ipynb). Or a side road:
# [03 Lowering](03_lowering.ipynb), [06 Precision](06_precision.ipynb).

# %% tags=["numbers"]
{
    "2 GB": "32 * 4 * counting.find('conv-sums').values(zoo.resnet50(variant='v1'))",
    "26M": "zoo.resnet50().parameters / 1e6",
    "16M": "counting.find('conv-sums').values(zoo.resnet50(variant='v1')) / 1e6",
    "10.6M": "min(rule.values(zoo.resnet50(variant='v1')) for rule in counting.CONVENTIONS"
    ".values()) / 1e6",
    "36.1M": "max(rule.values(zoo.resnet50(variant='v1')) for rule in counting.CONVENTIONS"
    ".values()) / 1e6",
}
