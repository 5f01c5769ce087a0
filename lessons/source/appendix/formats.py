# %% [markdown]
# # Appendix: which numbers does a format hold?
#
# Belongs to: [06 Precision](../06_precision.ipynb).
#
# A **format** says what its bits mean: 1 bit for the sign, some for the **exponent**, some for the
# **mantissa**. The exponent says between which two powers of 2 a number lies. The mantissa counts
# equal steps from the one power to the next.

# %%
from functools import partial

import memlab
from memlab import formats, rounding, views
from memlab.lesson import digits
from memlab.measure import timing

views.number("0.1", "fp16")

# %% [markdown]
# fp16 has no 0.1: a number between two steps is rounded to the nearer one. Move **Next values**,
# then change **Format**. Networks use these formats:

# %%
print(formats.table(vectors=()))

# %% [markdown]
# A number beyond **largest** is an **overflow**. A number closer to 0 than half of **smallest**
# becomes 0: **underflow**. **epsilon** is the step from 1 to the next number, and with each power
# of 2 the steps become twice as large. Below 2⁻¹⁴ the steps of fp16 no longer become smaller:
# numbers are stored with fewer digits, down to 2⁻²⁴. e4m3 has 4 bits of exponent and 3 of mantissa.
# int8 and int4 are whole numbers.
#
# ## What becomes of a number that is too large?

# %%
for name in ("fp32", "bf16", "fp16", "fp8_e5m2", "fp8_e4m3fn", "int8"):
    print(f"{name:10}  70,000 becomes {rounding.nearest(70_000, name):,}")

# %% [markdown]
# fp16 and e5m2 give infinity, e4m3 gives NaN (not a number), and int8 gives its largest value: it
# saturates. In bf16, 70,144 is not an overflow, but a rounded number.
#
# ## Which sums stop growing?
#
# A sum of many ones. So values that are stored in few bits are often added in fp32, or in pairs:

# %%
views.running_sum("fp16", count=4096)

# %% [markdown]
# ## Which gradients does fp16 lose?
#
# This is the first step of the digits in the dark of lesson 06, in fp32. Hollow bars are gradients
# that fp16 would lose, after the loss is multiplied by 65,536:

# %%
data, network = digits.dim(), digits.dim_network()
step = memlab.training_step(network)
first = memlab.run(step, 32, data.x[:32], data.y[:32], keep="gradients")
views.gradient_histogram(first, "fp16", scale=65536)

# %% [markdown]
# A factor that is too large loses gradients at the other end, by overflow. Which powers of 2 lose
# none?

# %%
for power in (23, 24, 40, 41):
    found = views.gradient_histogram(first, "fp16", scale=2.0**power)
    print(f"2^{power}:", found.rows.sentences[-1])

# %% [markdown]
# The powers from 2^24 to 2^40. A training in mixed fp16 finds its factor by itself: each overflow
# halves it.
#
# ## When are steps too coarse?
#
# At a small learning rate: many updates are less than half a step. Master weights keep these
# updates. So does **stochastic rounding**: it rounds up or down by chance, so that on average no
# update is lost.

# %% tags=["nbval-ignore-output", "recorded-rounding"]
mixed, bf16 = (partial(memlab.precision, mode=mode) for mode in ("mixed fp16", "bf16"))
ways = {"fp32": None, "mixed fp16": mixed, "bf16": bf16}
ways["bf16, stochastic"] = partial(bf16, rounding="stochastic")
slow = {"rate": digits.DIM_SETTINGS["rate"] / 30}
found = {
    name: memlab.train(network, data, rewrite=way, settings=slow, epochs=6)
    for name, way in ways.items()
}
print(timing.machine())
views.training_curves(found)

# %% [markdown]
# bf16 alone has about twice the errors.
#
# ## Does a run follow the plan?
#
# Graphcore's text (2017) says that lower precision could halve or even quarter the 168 MB of
# ResNet-50: the parameters, and the feature maps of 1 image.<sup>A13</sup> That is right for what
# is stored in few bits, and [a step stores more](eight_bits.ipynb). memlab computes in fp32: a
# kernel copies a part of an array into fp32 (a tile), computes, and rounds the result. Tiles are in
# the plan too:

# %%
full = memlab.training_step(digits.network(), "adam")
ways = {"fp32": full, "mixed": memlab.precision(full, "mixed fp16")}
ways["fp8 maps"] = memlab.precision(full, "mixed fp16", feature_map="fp8_e5m2")
for name, each in ways.items():
    done = memlab.run(each, 32)
    print(f"{name:9} planned {done.planned.peak(32):,} B, measured {done.peak:,} B")

# %% [markdown]
# It does, at every operation. With these extra passes ResNet-50 reads and writes 69.6 GB, and in
# fp32 35.1 GB. Hardware that computes in 16 bits needs no extra passes.
#
# Sources: A13.

# %% tags=["numbers"]
{
    "2⁻¹⁴": "formats.find('fp16').smallest_normal",
    "2⁻²⁴": "formats.find('fp16').smallest",
    "168 MB": "units.parse('168 MB')",
    "69.6 GB": "sum(op.bytes_moved.at(32) for op in memlab.precision(memlab.training_step("
    "zoo.resnet50(), 'adam'), 'mixed fp16').ops)",
    "35.1 GB": "sum(op.bytes_moved.at(32) for op in memlab.training_step(zoo.resnet50(), 'adam')"
    ".ops)",
}
