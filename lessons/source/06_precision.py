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
# fp16 holds no 0.1. The **exponent** says between which two powers of 2 a number lies, less a bias,
# because it may be negative. The **mantissa** counts equal steps from the lower one to the higher
# one. What lies between two steps is rounded to the nearer one: the **rounding error**.
#
# Move **Next values**, step by step. Then change **Format**.

# %% [markdown]
# ## Large numbers have large steps
#
# The formats that networks use:

# %%
print(formats.table(vectors=()))

# %% [markdown]
# Beyond **largest** is **overflow**. A number nearer to 0 than half of **smallest** becomes 0:
# **underflow**. **epsilon** is the step from 1 to the next number. fp16 and bf16 have 16 bits each:
# fp16 has smaller steps, bf16 a wider range. With each power of 2 the steps become twice as large.
#
# A name such as e4m3 says the bits of exponent and mantissa. tf32 uses 1 + 8 + 10 of its 32 bits.
# int8 and int4 are whole numbers.

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
# The same numbers, added in pairs or in fp32, lose nothing. So what is **stored** in few bits is
# often **added** in fp32. memlab widens a tile, computes in fp32, and rounds the result. GPUs can
# do so inside a matrix product.
#
# Too large numbers:

# %%
for name in ("fp32", "bf16", "fp16", "fp8_e5m2", "fp8_e4m3fn", "int8"):
    print(f"{name:10}  70,000 becomes {rounding.nearest(70_000, name):,}")

# %% [markdown]
# Infinity, NaN (not a number), or the largest value: it saturates.
#
# **Change it.** In the view at the top, set **Number** to `1e-10`. Which formats make it 0? Why
# does bf16 not, with as many bits as fp16?

# %% [markdown] tags=["solution"]
# **Answer.** fp16 and all with 8 bits or fewer. bf16 has 8 bits for the exponent, as many as fp32.

# %% [markdown]
# ## Every role has its own format
#
# A text says that lower precision could halve or even quarter the 168 MB of ResNet-50 (A13). Those
# are the parameters, and the maps of 1 image by the rule of lesson 02 (A4):

# %%
for claim in memlab.claims.find("A13"):
    print(f"{claim.claim}  {claim.verdict}: {claim.result}")

# %% [markdown]
# Right. But a training step holds more than this total counts.
#
# An update is a large number plus a small one, as in the sum above: in 16 bits it may be lost. So
# **mixed precision** stores parameters, gradients and maps in 16 bits, and keeps each parameter
# once more in fp32. The updates go to these **master weights** (Micikevicius et al., 2018).

# %%
state = lesson.predict("06.state")
state

# %% tags=["solution"]
state.guess("8 B").reveal()

# %% [markdown]
# Now all roles of ResNet-50 with Adam, at batch 32. Look at the maps, then at the line below each
# bar:

# %%
step = memlab.training_step(zoo.resnet50(), "adam")
ways = {"fp32": step, "mixed fp16": memlab.precision(step, "mixed fp16")}
ways["bf16"] = memlab.precision(step, "bf16")
ways["maps in fp8"] = memlab.precision(step, feature_map="fp8_e5m2")
if state.answered():
    display(views.comparison(ways, batch=32))

# %% [markdown]
# Maps halve in 16 bits, and fall to a quarter in 8. The **model state** (parameters, gradients, the
# optimizer's state) does not shrink in mixed precision (F1): what parameters and gradients save,
# the master weights take. In bf16 alone it halves too. There, without master weights, an update of
# less than half a step is lost, unless **stochastic rounding** (`rounding="stochastic"`) rounds it
# up or down by chance: then small updates count on average.
#
# The workspace has the tiles that are widened. Does a run follow such a plan?

# %%
full = memlab.training_step(digits.network(), "adam")
for name, each in {"fp32": full, "mixed": memlab.precision(full, "mixed fp16")}.items():
    done = memlab.run(each, batch=32)
    plan = done.planned.peak(32)
    print(f"{name:5}: planned {plan:,} B, measured {done.peak:,} B, residual {done.residual} B")

# %% [markdown]
# It does. In so small a network, tiles take more than maps save.
#
# Two techniques go further. **8-bit states**: each of Adam's states takes 8 bits per value, and a
# block of 2,048 values shares a **block scale** in fp32, which all are multiplied by (F3). **Bit
# masks**: backward of a ReLU needs to know where its output was above 0, 1 bit per value (F6). The
# map can then go, if nobody else needs it: before a max pooling. VGG-16 at batch 32:

# %%
step = memlab.training_step(zoo.vgg16(), "adam")
ways = {"fp32": step, "mixed fp16": memlab.precision(step, "mixed fp16")}
ways["8-bit states"] = memlab.eight_bit_states(ways["mixed fp16"])
ways["with bit masks"] = memlab.relu_masks(ways["8-bit states"])
if state.answered():
    display(views.comparison(ways, batch=32))

# %% [markdown]
# **Change it.** Set `batch` to 8 in this cell. Which of the 3 changes now saves the most, which
# nothing? Think of the operation at the peak.

# %% [markdown] tags=["solution"]
# **Answer.** The 8-bit states: they save the same at any batch. The masks save nothing: the peak is
# now in backward of `conv1_2`, where nearly all maps have been freed already.

# %% [markdown]
# ## Small gradients vanish, and a factor brings them back
#
# **Loss scaling** multiplies the loss by a factor, so that every gradient is multiplied by it too.
# The update divides by it again, in fp32. How large does the factor have to be?

# %%
scale = lesson.predict("06.scale")
scale

# %% tags=["solution"]
scale.guess(8).reveal()

# %% [markdown]
# Now the gradients of a network that reads digits in the dark. Images and targets are multiplied by
# 2^-13. In fp32 that changes exponents alone, so with a larger rate the network learns as before.
# But its gradients are very small. (The digits come with scikit-learn. If it is missing, the cell
# says what to install.)

# %%
data, network = digits.dim(), digits.dim_network()
if scale.answered():
    step = memlab.training_step(network)
    first = memlab.run(step, 32, data.x[:32], data.y[:32], keep="gradients")
    display(views.gradient_histogram(first, "fp16", scale=65536))

# %% [markdown]
# Hollow bars are gradients that become 0. fp32, fp16 without and with a scale, bf16: which will
# learn? Write it down, then train.

# %%
mixed = partial(memlab.precision, mode="mixed fp16")
bf16 = partial(memlab.precision, mode="bf16")


def train(ways, network, data, settings, epochs):
    more = {"settings": settings, "epochs": epochs}
    found = {name: memlab.train(network, data, rewrite=way, **more) for name, way in ways.items()}
    print(timing.machine())
    display(views.training_curves(found))


# %% tags=["nbval-ignore-output"]
ways = {"fp32": None, "fp16, no scale": partial(mixed, scaling=False)}
ways |= {"mixed fp16": mixed, "bf16": bf16}
if scale.answered():
    train(ways, network, data, digits.DIM_SETTINGS, epochs=6)

# %% [markdown]
# Without a scale fp16 guesses: about 9 of 10 digits are wrong. With it, it learns as fp32 does. The
# factor even finds its own size: an overflow halves it, and that update is left out. bf16 needs
# none: it has the exponent bits of fp32. So what failed was the range, not the steps.
#
# And where gradients are larger? The same digits in daylight, with convolutions and batch norm, and
# with maps in 8 bits too. It takes about half a minute:

# %% tags=["nbval-ignore-output"]
ways = {"fp32": None, "mixed fp16": mixed, "bf16": bf16}
ways["fp8 maps"] = partial(memlab.precision, feature_map="fp8_e5m2")
if scale.answered():
    train(ways, digits.network(), digits.load(), digits.SETTINGS, epochs=3)

# %% [markdown]
# 1 test image of 360 is 0.3 % of the error. How many images lie between your trainings? Another
# order of the samples changes as much.
#
# **Change it.** Too large a factor loses gradients at the other end. In the cell of the histogram,
# set `scale` to `2.0**42`, then to smaller powers of 2. Which of them lose no gradient?

# %% [markdown] tags=["solution"]
# **Answer.** Those from `2.0**24` to `2.0**40`. The training began with 65,536 and did without the
# few that it loses.

# %% tags=["solution"]
for power in (23, 24, 40, 41):
    found = views.gradient_histogram(first, "fp16", scale=2.0**power)
    print(f"2^{power}:", found.rows.sentences[-1])

# %% [markdown]
# ## Exercise: bits and blocks
#
# **Worked.** The mask of `conv1_2.relu` of VGG-16, for 8 images. **Shapes:** 64·224·224 values per
# image. **Bytes:** 1 bit for each, and 8 bits are a byte. **Lifetime:** from forward of the ReLU to
# its backward; the map itself now ends after the pooling. **Peak:** 1/32 of the map is left there.

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
# Your function answers for the linear layers of VGG-16. How much do the scales take?

# %%
for block in (64, 2048, 16384):
    print("blocks of", block, "values, bytes:", model_state([25088, 4096, 4096, 1000], block))

# %% [markdown]
# ## What this lesson leaves out
#
# - Time. memlab widens tiles on the processor, and is slower for it. Many GPUs multiply 16 bits
#   faster than 32.
# - Arithmetic in 8 bits, and inference with int8 or int4 weights.
# - Large networks: small digits forgive much.

# %% [markdown]
# ## Key points
#
# - A format has a largest number, a smallest one, and steps. Outside: overflow or underflow.
#   Between two steps: rounding error.
# - **What halves:** whatever is stored in half the bits, at the same batch. In mixed precision the
#   maps and their gradients.
# - **What does not:** the model state, because of master weights. 8-bit states shrink it.
# - **What it costs:** sums in fp32, tiles, a loss scale for fp16. Look at the gradients before you
#   choose.

# %% tags=["numbers"]
{
    "13": "round(1 / memlab.lesson.digits.DIM).bit_length() - 1",
    "360": "memlab.lesson.digits.TEST",
    "0.3 %": "1 / memlab.lesson.digits.TEST",
}
