# %% [markdown]
# # 06 Precision: what do fewer bits save, and what do they cost?
#
# 45 minutes. Needs: [05 Mini-batch and vectors](05_vectors.ipynb).
#
# You will be able to
#
# - say what a number format holds, and what becomes of a number that it does not hold,
# - say for each role in a training step what fewer bits save,
# - see where a training in 16 bits fails, and mend it.
#
# Words: [exponent](glossary.md), [mantissa](glossary.md), [rounding error](glossary.md),
# [overflow](glossary.md), [underflow](glossary.md), [mixed precision](glossary.md),
# [master weights](glossary.md), [stochastic rounding](glossary.md), [block scale](glossary.md),
# [loss scaling](glossary.md).

# %%
from functools import partial

import memlab
from memlab import formats, lesson, rounding, views, zoo
from memlab.bench import timing
from memlab.lesson import digits

views.number("0.1", "fp16")

# %% [markdown]
# fp16 holds no 0.1. The **exponent** bits choose a power of 2. The **mantissa** bits count equal
# steps from there to the next one. What lies between two steps is rounded: the **rounding error**.
#
# Move **Next values**. Then change **Format**.

# %% [markdown]
# ## What becomes of a number between two steps?
#
# The formats that networks use:

# %%
print(formats.table(vectors=()))

# %% [markdown]
# Beyond **largest** is **overflow**. A number nearer to 0 than half of **smallest** becomes 0:
# **underflow**. **epsilon** is the step from 1 to the next number. With each power of 2 the steps
# become twice as large. Below 2^-14 the steps of fp16 no longer become smaller: numbers are kept
# with fewer digits, down to 2^-24. fp16 has smaller steps than bf16, bf16 a wider range.
#
# e4m3 has 4 bits of exponent and 3 of mantissa. int8 and int4 are whole numbers.

# %%
one = lesson.predict("06.one")
one

# %% tags=["solution"]
one.guess("exact").reveal()

# %% [markdown]
# A sum of many ones:

# %%
if one.answered():
    display(views.running_sum("fp16", count=4096))

# %% [markdown]
# These ones, added in pairs or in fp32, lose nothing. So what is **stored** in few bits is often
# **added** in fp32. memlab widens a tile (copies a part of an array into fp32), computes, and
# rounds the result.
#
# Too large numbers:

# %%
for name in ("fp32", "bf16", "fp16", "fp8_e5m2", "fp8_e4m3fn", "int8"):
    print(f"{name:10}  70,000 becomes {rounding.nearest(70_000, name):,}")

# %% [markdown]
# fp16 and e5m2 give infinity, e4m3 gives NaN (not a number), int8 its largest value: it saturates.
# In bf16, 70,144 is no overflow, but rounding.
#
# **Change it.** In the view at the top, set **Number** to `1e-10` and choose **All numbers**. Which
# formats make it 0, and why not bf16?

# %% [markdown] tags=["solution"]
# **Answer.** fp16 and all with 8 bits or fewer. bf16 has 8 bits for the exponent, as many as fp32.

# %% [markdown]
# ## What do fewer bits save, role by role?
#
# A text says that lower precision could halve or even quarter the 168 MB of ResNet-50 (A13):
# parameters, and the maps of 1 image by the rule of lesson 02 (A4).

# %%
for claim in memlab.claims.find("A13"):
    print(f"{claim.claim}  {claim.verdict}: {claim.result}")

# %% [markdown]
# Right. But a training step holds more.
#
# An update is a large number plus a small one, as in the sum above: in 16 bits it may be lost. So
# **mixed precision** stores parameters, gradients and maps in 16 bits, and keeps each parameter
# once more in fp32. The updates go to these **master weights** (Micikevicius et al., 2018).

# %%
state = lesson.predict("06.state")
state

# %% tags=["solution"]
state.guess("8 B").reveal()

# %%
if state.answered():
    display(views.precision("resnet50", batch=32, guess=state.bytes))

# %% [markdown]
# On the left 1 parameter, byte by byte; all of them together are the **model state**, left of the
# thick line (F1). Two techniques go further. **8-bit states**: each of Adam's states takes 8 bits
# per value, and a block of 2,048 values shares a factor in fp32, its **block scale** (F3).
#
# **Change it.** Set **Optimizer state** to `8 bits`. Press **Start**, and set **Feature maps** to
# `fp8_e5m2`. Which side shrinks each time, and by how much?

# %% [markdown] tags=["solution"]
# **Answer.** 8-bit states: the model state alone, from 16 to 10 B for each parameter. Feature maps
# in 8 bits: the maps alone, to a quarter of those in fp32.

# %% [markdown]
# `bf16` alone halves all, but loses small updates. **Stochastic rounding**
# (`rounding="stochastic"`) rounds up or down by chance: then they count on average.
#
# The workspace has the widened tiles. Does a run follow the plan?

# %%
full, batch = memlab.training_step(digits.network(), "adam"), 32
for name, each in {"fp32": full, "mixed": memlab.precision(full, "mixed fp16")}.items():
    done = memlab.run(each, batch)
    plan = done.planned.peak(batch)
    print(f"{name:5}: planned {plan:,} B, measured {done.peak:,} B, residual {done.residual} B")

# %% [markdown]
# It does, with 0.609 × the bytes. **Change it.** Set `batch` to 1. Why does mixed precision
# take more?

# %% [markdown] tags=["solution"]
# **Answer.** Tiles and master weights take more than the maps save.

# %% [markdown]
# **Bit masks**: backward of a ReLU needs to know where its output was above 0, 1 bit per value
# (F6). The map can then go, if nothing else needs it: before a max pooling. VGG-16:

# %%
ways, batch = {"fp32": memlab.training_step(zoo.vgg16(), "adam")}, 32
ways["mixed fp16"] = memlab.precision(ways["fp32"], "mixed fp16")
ways["8-bit states"] = memlab.eight_bit_states(ways["mixed fp16"])
ways["with bit masks"] = memlab.relu_masks(ways["8-bit states"])
for name, each in ways.items() if state.answered() else ():
    print(f"{name:14} peak {memlab.plan(each).peak(batch):,} B")

# %% [markdown]
# **Change it.** Set `batch` to 8 in this cell. Which of the 3 changes now saves the most, which
# nothing?

# %% [markdown] tags=["solution"]
# **Answer.** The 8-bit states: they save the same at any batch. The masks nothing: the peak is
# now in backward of `conv1_2`, where most maps have been freed.

# %% [markdown]
# ## Which gradients does fp16 lose?
#
# **Loss scaling** multiplies the loss by a factor, and so every gradient. The update divides by it
# again, in fp32. How large must it be?

# %%
scale = lesson.predict("06.scale")
scale

# %% tags=["solution"]
scale.guess(8).reveal()

# %% [markdown]
# Now a network that reads digits in the dark. Images and targets are multiplied by 2^-13, and so
# the gradients, error times input, by 2^-26. A rate 2^26 times as large makes up for it: in fp32
# the network learns as before.

# %%
data, network = digits.dim(), digits.dim_network()
if scale.answered():
    step = memlab.training_step(network)
    first = memlab.run(step, 32, data.x[:32], data.y[:32], keep="gradients")
    display(views.gradient_histogram(first, "fp16", scale=65536))

# %% [markdown]
# Hollow bars are lost gradients; here they become 0. Which of the 4 ways below will learn? Write it
# down, then train.

# %%
mixed = partial(memlab.precision, mode="mixed fp16")
bf16 = partial(memlab.precision, mode="bf16")


def train(ways, network, data, settings, epochs):
    more = {"settings": settings, "epochs": epochs}
    found = {name: memlab.train(network, data, rewrite=way, **more) for name, way in ways.items()}
    print(timing.machine())
    print(", ".join(f"{name}: {each.seconds:.1f} s" for name, each in found.items()))
    display(views.training_curves(found))


# %% tags=["nbval-ignore-output"]
ways = {"fp32": None, "fp16, no scale": partial(mixed, scaling=False)}
ways |= {"mixed fp16": mixed, "bf16": bf16}
if scale.answered():
    train(ways, network, data, digits.DIM_SETTINGS, epochs=6)

# %% [markdown]
# Without a scale fp16 guesses: about 9 of 10 digits are wrong. With it, it learns as fp32 does. An
# overflow would halve the factor; here it stays 65,536. bf16 needs none: it has the exponent bits
# of fp32. So what failed was the range, not the steps. When do steps fail? At a small rate:

# %% tags=["nbval-ignore-output"]
ways = {"fp32": None, "mixed fp16": mixed, "bf16": bf16}
ways["bf16, stochastic"] = partial(bf16, rounding="stochastic")
slow = {"rate": digits.DIM_SETTINGS["rate"] / 30}
if scale.answered():
    train(ways, network, data, slow, epochs=6)

# %% [markdown]
# bf16 alone has about twice the errors: many updates are less than half a step, and are lost.
# Master weights or stochastic rounding keep them.
#
# The digits in daylight, with convolutions and batch norm, and maps in 8 bits too (half a minute):

# %% tags=["nbval-ignore-output"]
ways = {"fp32": None, "mixed fp16": mixed, "bf16": bf16}
ways["fp8 maps"] = partial(memlab.precision, feature_map="fp8_e5m2")
if scale.answered():
    train(ways, digits.network(), digits.load(), digits.SETTINGS, epochs=3)

# %% [markdown]
# 1 test image of 360 is 0.3 % of the error. How many lie between your trainings? **Change it.** Add
# `"seed": 1` to `more`: another start, another order. How many now?
#
# **Change it.** Too large a factor loses gradients at the other end. In the cell of the histogram,
# set `scale` to `2.0**42`, then to smaller powers of 2. Which of them lose none?

# %% [markdown] tags=["solution"]
# **Answer.** Those from `2.0**24` to `2.0**40`.

# %% tags=["solution"]
for power in (23, 24, 40, 41):
    found = views.gradient_histogram(first, "fp16", scale=2.0**power)
    print(f"2^{power}:", found.rows.sentences[-1])

# %% [markdown]
# ## Exercise: bits and blocks
#
# **Worked.** The mask of `conv1_2.relu` of VGG-16, for 8 images. **Shapes:** 64·224·224 values per
# image. **Bytes:** 1 bit each, 8 to a byte. **Lifetime:** from forward of the ReLU to
# its backward; the map itself now ends after the pooling. **Peak:** if it lies between those two,
# 1/32 of an fp32 map is left, 1/16 of one in 16 bits.

# %%
print(f"{8 * (64 * 224 * 224 // 8):,} B in place of {8 * 64 * 224 * 224 * 4:,} B")

# %% [markdown]
# **With blanks.** Any map. Each sample begins with a new byte:

# %%
exercise = lesson.exercise("06.mask_bytes")
exercise.show()


# %% tags=["stub"]
def mask_bytes(batch, channels, size):
    values = ...  # of one sample
    return None  # replace None


# %% tags=["solution"]
def mask_bytes(batch, channels, size):
    values = channels * size * size
    return batch * -(-values // 8)


# %%
exercise.check(mask_bytes)

# %% [markdown]
# **Alone.** The model state, with Adam's states in 8 bits:

# %%
exercise = lesson.exercise("06.model_state")
exercise.show()


# %% tags=["stub"]
def model_state(features, block):
    return None  # replace None


# %% tags=["solution"]
def model_state(features, block):
    total = 0
    for i, outputs in enumerate(features[1:]):
        for n in (features[i] * outputs, outputs):
            total += (2 + 2 + 4 + 2) * n + 2 * 4 * -(-n // block)
    return total


# %%
exercise.check(model_state)

# %% [markdown]
# The linear layers of VGG-16. How much do the scales take?

# %%
for block in (64, 2048, 16384):
    print("blocks of", block, "values, bytes:", model_state([25088, 4096, 4096, 1000], block))

# %% [markdown]
# ## What this lesson leaves out
#
# - Speed. memlab widens and rounds every value in extra passes: in mixed precision ResNet-50 reads
#   and writes 67.3 GB in place of 34.4 GB. Hardware that computes in 16 bits does not.
# - The accuracy with 8-bit states. Bit masks lose nothing.
# - Arithmetic in 8 bits, int8 inference, large networks.

# %% [markdown]
# ## Key points
#
# - A format has a largest number, a smallest one, and steps. Outside: overflow or underflow.
#   Between two steps: rounding error.
# - **What halves:** maps, parameters and gradients, at the same batch.
# - **What does not:** the sum of the model state in mixed precision. For Adam, 2+2+4+4+4 =
#   4+4+4+4. 8-bit states shrink it.
# - **What it costs:** seconds, tiles, a loss scale for fp16. Look at the gradients before you
#   choose.

# %% tags=["numbers"]
{
    "14": "round(1 / formats.find('fp16').smallest_normal).bit_length() - 1",
    "24": "round(1 / formats.find('fp16').smallest).bit_length() - 1",
    "26": "round(1 / memlab.lesson.digits.DIM**2).bit_length() - 1",
    "13": "round(1 / memlab.lesson.digits.DIM).bit_length() - 1",
    "16": "memlab.views.precision().rows.origin.per_parameter",
    "10 B": "memlab.views.precision(optimizer_state='8 bits').rows.now.per_parameter",
    "67.3 GB": "sum(op.bytes_moved.at(32) for op in memlab.precision(memlab.training_step("
    "zoo.resnet50(), 'adam'), 'mixed fp16').ops)",
    "34.4 GB": "sum(op.bytes_moved.at(32) for op in memlab.training_step(zoo.resnet50(), 'adam')"
    ".ops)",
    "0.609": "memlab.plan(memlab.precision(memlab.training_step(memlab.lesson.digits.network(), "
    "'adam'), 'mixed fp16')).peak(32) / memlab.plan(memlab.training_step("
    "memlab.lesson.digits.network(), 'adam')).peak(32)",
    "360": "memlab.lesson.digits.TEST",
    "0.3 %": "1 / memlab.lesson.digits.TEST",
}
