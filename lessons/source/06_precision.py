# %% [markdown]
# # 06 Precision: what do fewer bits save, and what do they cost?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).

# %%
from memlab import lesson, views

views.precision(start_from="fp32", others=False, only=("batch", "feature_map", "gradient_map"))

# %% [markdown]
# Set **Feature maps** to fp16, then **Gradient maps**. Half of their bytes are gone. May you do the
# same with the parameters, their gradients and the optimizer state? And what could go wrong?
#
# You will be able to
#
# - say for each role in a training step what fewer bits save,
# - work out the bytes of a model state for any mix of formats,
# - explain why a training in 16 bits can fail, and fix it.
#
# Words: [rounding error](glossary.md), [mantissa](glossary.md), [exponent](glossary.md),
# [optimizer state](glossary.md), [block scale](glossary.md).

# %%
lesson.recall("06.kept")

# %% tags=["solution"]
lesson.recall("06.kept").guess("backward").reveal()

# %%
lesson.recall("06.larger")

# %% tags=["solution"]
lesson.recall("06.larger").guess("floor").reveal()

# %% [markdown]
# ## What becomes of a small update?
#
# Two formats of 16 bits are in use, and some of 8. The **exponent** says between which two powers
# of 2 a number lies. More exponent bits give a wider range. The **mantissa** counts the steps from
# one power to the next.
#
# | format | exponent, bits | mantissa, bits |
# |---|---|---|
# | fp32 | 8 | 23 |
# | fp16 | 5 | 10 |
# | bf16 | 8 | 7 |
# | fp8_e5m2 | 5 | 2 |

# %%
lesson.predict("06.update")

# %% tags=["solution", "picture-update"]
lesson.predict("06.update").guess("other", because="bf16 has few bits").revise("same").reveal()

# %% [markdown]
# ## Does the model state shrink?
#
# **Mixed precision** stores parameters, their gradients and the feature maps in 16 bits, and
# updates the parameters in fp32 (Micikevicius et al., 2018). The **model state** is everything that
# is kept for the parameters: their values, gradients and optimizer state.<sup>F1</sup>

# %%
lesson.predict("06.state")

# %% tags=["solution", "picture-state"]
lesson.predict("06.state").guess("smaller", because="16 bits are half of 32").reveal()

# %% [markdown]
# **8-bit states** store each of Adam's states in 1 B per value. A block of 2,048 values shares a
# factor in fp32, its **block scale**.<sup>F3</sup>

# %%
lesson.change("06.saves")

# %% tags=["solution"]
lesson.change("06.saves").guess("state").reveal()

# %% [markdown]
# ## Can 16 bits learn from very small numbers?
#
# A small network reads digits in the dark: images and targets are multiplied by 2⁻¹³. A gradient is
# an error times an input. So the gradients are divided by 2²⁶. The learning rate is multiplied by
# 2²⁶, so the updates have their usual size.

# %%
lesson.predict("06.dark")

# %% tags=["solution", "nbval-ignore-output", "recorded-dark"]
lesson.predict("06.dark").guess("fp16", because="it has more digits").revise("bf16").reveal()

# %% [markdown]
# ### Which format has the range, and which the steps?
#
# What becomes of 1e-8? Set **Format** to bf16. Then set **Number** to `1.001`, and compare again.

# %%
views.number("1e-8", "fp16")

# %% [markdown]
# ## Exercise: how large is the model state?
#
# **Worked.** A linear layer from 4,096 to 1,000 features, with Adam in mixed precision. **Shapes:**
# weights 4,096·1,000, biases 1,000. **Bytes:** 2 B for a value, 2 B for its gradient, 4 B for its
# master weight, 4 B for each of 2 states. **Lifetime:** all of them wait for the update. **Peak:**
# they are part of the floor, at any batch.

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
# ## What this lesson leaves out
#
# - PyTorch has [automatic mixed precision](https://docs.pytorch.org/docs/stable/amp.html): under
#   `torch.autocast`, parameters stay in fp32, and each layer casts what it reads to 16 bits.
#   `torch.amp.GradScaler` scales the loss.
# - Speed: on a CPU, memlab gets no faster. It computes in fp32 and rounds in extra passes.
# - Overflow and small rates: [which numbers does a format hold?](appendix/formats.ipynb)
# - 8 bits: [which 8 bits for maps, and which for gradients?](appendix/eight_bits.ipynb)
#
# Sources: F1, F3.

# %% [markdown]
# ## The case so far

# %%
lesson.predict("06.case")

# %% tags=["solution", "picture-case"]
lesson.predict("06.case").guess("no").revise("faster").reveal()

# %% [markdown]
# ## Key points
#
# - **The activations halve** in mixed precision. A step of ResNet-50 (Adam, batch 32) needs 0.574
#   of its fp32 peak.
# - **The model state does not halve.** For Adam, mixed precision has 2+2+4+4+4 B per parameter, and
#   fp32 and `torch.autocast` have 4+4+4+4. 8-bit states make it smaller.
# - **Small updates need fine steps**: they are added to master weights in fp32. **Small gradients
#   need range**: fp16 needs a loss scale, and bf16 does not.
#
# Next: [07 In place and sharing](07_sharing.ipynb). Which tensors can live at the same address?

# %% tags=["numbers"]
{
    "2⁻¹³": "memlab.lesson.digits.DIM",
    "2²⁶": "memlab.lesson.digits.DIM**-2",
    "23": "formats.find('fp32').mantissa",
    "2,048": "memlab.eight_bit_states.__defaults__[0]",
    "0.574": "memlab.plan(memlab.precision(memlab.training_step(zoo.resnet50(), 'adam'), "
    "'mixed fp16')).peak(32) / memlab.plan(memlab.training_step(zoo.resnet50(), 'adam')).peak(32)",
}
