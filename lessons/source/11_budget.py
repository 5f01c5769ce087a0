# %% [markdown]
# # 11 Fit the budget: can it train in half the memory?
#
# 45 minutes. Needs: [08 Recompute](08_recompute.ipynb), [09 Offload](09_offload.ipynb).

# %%
from memlab import lesson, views

views.memory("resnet50", 256, budgets=("6 GB",), free=False, height=160, only=("batch",))

# %% [markdown]
# One training step of ResNet-50 with 256 images, and a budget of 6 GB: half of a card of 12 GB. Move
# **Batch**: how few images are left when the step fits? In this lesson all 256 stay.
#
# You will be able to
#
# - say when the savings of two techniques add up, and when they do not,
# - say in which order techniques are applied, and why,
# - find the fastest step that fits a budget, and say what it changes in the result.
#
# Words: [budget](glossary.md), [peak](glossary.md), [recompute](glossary.md),
# [offload](glossary.md), [mixed precision](glossary.md).

# %%
lesson.recall("11.overwrites")

# %% tags=["solution"]
lesson.recall("11.overwrites").guess("size").reveal()

# %%
lesson.recall("11.hidden")

# %% tags=["solution"]
lesson.recall("11.hidden").guess("never").reveal()

# %% [markdown]
# ## Do savings add up?
#
# In the case so far, each technique was applied alone. Now one follows the other.

# %% tags=["planned-seconds"]
lesson.predict("11.both")

# %% tags=["solution", "planned-seconds", "picture-both"]
lesson.predict("11.both").guess("less", because="two savings").revise("high").reveal()

# %%
lesson.predict("11.in_place")

# %% tags=["solution", "picture-in-place"]
lesson.predict("11.in_place").guess("less").revise("more").reveal()

# %% [markdown]
# The order of two techniques matters, too. Here recompute comes first. What is left on the device
# goes to the host:

# %%
import memlab
from memlab import zoo

step = memlab.training_step(zoo.resnet50(), "momentum")
again = memlab.recompute(step, "chain", batch=256)
both = memlab.offload(again, "all")
print(f"{memlab.plan(both).peak(256):,} B")

# %%
lesson.change("11.order")

# %% tags=["solution"]
lesson.change("11.order").guess("lower").reveal()

# %% [markdown]
# ## Which choice is the fastest that fits?
#
# Techniques cost time, or save it. **Mixed fp16** (lesson 06) stores feature maps in 2 bytes a value
# instead of 4. The card also computes faster with them. Results are rounded.

# %% tags=["planned-seconds"]
lesson.predict("11.time")

# %% tags=["solution", "planned-seconds"]
lesson.predict("11.time").guess("same").revise("faster").reveal()
