# %% [markdown]
# # 06 Precision: what do fewer bits save, and what do they cost?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).
#
# You will be able to
#
# - say for each role in a training step what fewer bits save, and what they do not,
# - work out the bytes of a model state for any mix of formats,
# - see why a training in 16 bits can fail, and mend it.
#
# Words: [rounding error](glossary.md), [mantissa](glossary.md), [exponent](glossary.md),
# [optimizer state](glossary.md), [block scale](glossary.md).

# %%
from memlab import lesson

lesson.recall("06.kept")

# %% tags=["solution"]
lesson.recall("06.kept").guess("backward").reveal()

# %%
lesson.recall("06.larger")

# %% tags=["solution"]
lesson.recall("06.larger").guess("floor").reveal()

# %% [markdown]
# ResNet-50 with Adam. Each colour is a role, each value takes 4 B (fp32):

# %%
from memlab import rounding, views
from memlab.lesson import digits
from memlab.measure import timing

views.memory("resnet50", 32, "adam", only=("batch",))

# %% [markdown]
# Move **Batch**. Which of these roles would you store in 2 B per value, and what could go wrong?

# %% [markdown]
# ## What becomes of a small update?
#
# Two formats of 16 bits are in use. Their **exponent** says between which two powers of 2 a number
# lies, their **mantissa** counts the steps from one power to the next.
#
# | format | exponent, bits | mantissa, bits |
# |---|---|---|
# | fp32 | 8 | 23 |
# | fp16 | 5 | 10 |
# | bf16 | 8 | 7 |

# %%
update = lesson.predict("06.update")


@update.then
def weights():
    for name in ("fp32", "fp16", "bf16"):
        weight = 1.0
        for _ in range(1000):
            weight = rounding.nearest(weight + 0.001, name)
        print(f"{name} {weight:.6g}")


update

# %% tags=["solution"]
update.guess("other", because="bf16 has few bits").revise("same").reveal()

# %% [markdown]
# ## Does the model state shrink?
#
# **Mixed precision** stores parameters, their gradients and maps in 16 bits, and updates in fp32
# (Micikevicius et al., 2018). The **model state** is all that is kept for the parameters: values,
# gradients, optimizer state.<sup>F1</sup>

# %%
state = lesson.predict("06.state")


@state.then
def roles():
    return views.precision("resnet50", batch=32)


state

# %% tags=["solution", "picture-state"]
state.guess("smaller", because="16 bits are half of 32").reveal()

# %% [markdown]
# **8-bit states**: each of Adam's states takes 1 B per value, and a block of 2,048 values shares a
# factor in fp32, its **block scale**.<sup>F3</sup>

# %%
lesson.change("06.saves")

# %% tags=["solution"]
lesson.change("06.saves").guess("state").reveal()

# %% [markdown]
# ## Can 16 bits learn in the dark?
#
# A small network reads digits in the dark: images and targets are multiplied by 2⁻¹³. So
# gradients, error times input, are 2⁻²⁶ times as large, and the rate is 2²⁶ times as large.

# %%
dark = lesson.predict("06.dark")


@dark.then
def train():
    print(timing.machine())
    return views.training_curves(digits.in_the_dark())


dark

# %% tags=["solution", "nbval-ignore-output", "recorded-dark"]
dark.guess("fp16", because="it has more digits").revise("bf16").reveal()

# %% [markdown]
# ## Exercise: the model state, and a mask
#
# **Worked.** A linear layer from 4,096 to 1,000 features, with Adam in mixed precision. **Shapes:**
# weights 4,096·1,000, biases 1,000. **Bytes:** 2 B for a value, 2 B for its gradient, 4 B for its
# master weight, 4 B for each of 2 states. **Lifetime:** all wait for the update. **Peak:** they are
# part of the floor, at any batch.

# %%
parameters = 4096 * 1000 + 1000
print(f"{(2 + 2 + 4 + 4 + 4) * parameters:,} B")

# %% [markdown]
# **With blanks.** Any linear layers, with states in 8 bits:

# %%
exercise = lesson.exercise("06.model_state")
exercise.show()


# %% tags=["stub"]
def model_state(features, block):
    total = 0
    for i, outputs in enumerate(features[1:]):
        for n in (features[i] * outputs, outputs):  # the weights, the biases
            total += (2 + 2 + ...) * n  # and the scales of their blocks
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
# **Alone.** The smallest format of all: backward of a ReLU asks where its output was above 0, so 1
# bit for each value will do.<sup>F6</sup>

# %%
exercise = lesson.exercise("06.mask_bytes")
exercise.show()


# %% tags=["stub"]
def mask_bytes(batch, channels, size):
    return None  # replace None


# %% tags=["solution"]
def mask_bytes(batch, channels, size):
    values = channels * size * size
    return batch * -(-values // 8)


# %%
exercise.check(mask_bytes)

# %% [markdown]
# ## What this lesson leaves out
#
# - Speed: memlab rounds in extra passes.
# - Overflow, small rates. More: [numbers of a format](appendix/formats.ipynb), [which 8 bits for
#   what](appendix/eight_bits.ipynb).
#
# Sources: A6, A13, F1, F3, F6.

# %% [markdown]
# ## The case so far

# %%
lesson.predict("06.case")

# %% tags=["solution", "picture-case"]
lesson.predict("06.case").guess("no").revise("faster").reveal()

# %% [markdown]
# ## Key points
#
# - **What halves** in mixed precision: the maps. Of a ResNet-50 step (Adam, batch 32) 0.574 is
#   left, with maps in 8 bits 0.357. One text says half or a quarter.<sup>A13</sup> Another doubles
#   the batch, and saves nothing.<sup>A6</sup>
# - **What does not:** the model state. For Adam, 2+2+4+4+4 = 4+4+4+4. 8-bit states shrink it.
# - **What it costs:** master weights against lost updates, in fp16 a loss scale against lost
#   gradients.
#
# Next: [07 In place and sharing](07_sharing.ipynb). Which tensors can live at the same address?

# %% tags=["numbers"]
{
    "2⁻¹³": "memlab.lesson.digits.DIM",
    "2⁻²⁶ times": "memlab.lesson.digits.DIM**2",
    "2²⁶ times": "memlab.lesson.digits.DIM**-2",
    "23": "formats.find('fp32').mantissa",
    "2,048": "memlab.eight_bit_states.__defaults__[0]",
    "0.574": "memlab.plan(memlab.precision(memlab.training_step(zoo.resnet50(), 'adam'), "
    "'mixed fp16')).peak(32) / memlab.plan(memlab.training_step(zoo.resnet50(), 'adam')).peak(32)",
    "0.357": "memlab.plan(memlab.precision(memlab.training_step(zoo.resnet50(), 'adam'), "
    "'mixed fp16', feature_map='fp8_e4m3fn', gradient_map='fp8_e5m2')).peak(32) / "
    "memlab.plan(memlab.training_step(zoo.resnet50(), 'adam')).peak(32)",
}
