# %% [markdown]
# # 11 Fit the budget: can it train in half the memory?
#
# 45 minutes. Needs: [08 Recompute](08_recompute.ipynb), [09 Offload](09_offload.ipynb).

# %%
from memlab import lesson, views

views.memory("resnet50", 256, only=["batch"], budgets=["6 GB"], free=False, largest=256, height=160)

# %% [markdown]
# A training step with 256 images, and a budget of 6 GB: half of a card of 12 GB. Move **Batch**
# until it fits. How can all 256 stay?
#
# You will be able to
#
# - say why two savings together can be smaller than one of them alone,
# - say in which order techniques are applied, and why,
# - find the fastest step that fits a budget.
#
# Words: [budget](glossary.md), [recompute](glossary.md), [offload](glossary.md),
# [mixed precision](glossary.md).

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

# %% tags=["planned-seconds"]
lesson.predict("11.both")

# %% tags=["solution", "planned-seconds", "picture-both"]
lesson.predict("11.both").guess("less", because="two savings").revise("high").reveal()

# %%
lesson.predict("11.in_place")

# %% tags=["solution", "picture-place"]
lesson.predict("11.in_place").guess("less").revise("more").reveal()

# %% [markdown]
# Here recompute comes first, then offload:

# %%
import memlab

step = memlab.training_step(memlab.zoo.resnet18(), "momentum")
step = memlab.recompute(step, "chain", batch=256)
step = memlab.offload(step, "all")
print(f"{memlab.plan(step).peak(256):,} B")

# %%
lesson.change("11.order")

# %% tags=["solution"]
lesson.change("11.order").guess("lower").reveal()

# %% [markdown]
# ## Which choice is the fastest that fits?
#
# **Mixed fp16** (lesson 06) stores feature maps in 2 bytes a value instead of 4. Tensor cores
# compute faster with 2-byte values. Results are rounded.

# %% tags=["planned-seconds"]
lesson.predict("11.time")

# %% tags=["solution", "planned-seconds"]
lesson.predict("11.time").guess("same").revise("faster").reveal()

# %% [markdown]
# Now the board, with a column for each block of ResNet-50. Switch techniques on and off. Look for a
# long column above and a short bar below. **H** moves only inputs of convolutions. When the step
# fits, press **Submit**.

# %% tags=["planned-seconds"]
view = views.budget(1)
view

# %% tags=["solution", "planned-seconds", "picture-board"]
view.choice = "half place AAA-AAAA-AKKKKK-KKK"
view.submit()
view

# %% [markdown]
# `view.choice` is your choice in one line, to send to somebody. `view.run()` runs it with small
# images, and measures. More: [a small GPT, and a board drawn for
# you](appendix/boards.ipynb).
#
# ## Exercise: recompute, then offload
#
# **Worked.** 6 linear layers, 250 samples, as in lesson 08. Recompute keeps the second and the
# fourth feature map; these two wait on the host. **Shapes:** 250·60 to 250·10 values. **Bytes:** 4
# for each value. **Lifetime:** a checkpoint comes back when backward reads it. The last 2 feature
# maps are not dropped, so the fourth comes back after them. **Peak in backward:** the largest of
# four sums: the last 2; the fourth alone; the third with the checkpoint in front of it; the first
# alone.

# %%
from memlab.lesson import chains

maps = [4 * 250 * features for features in (60, 50, 40, 30, 20, 10)]
sums = [maps[4] + maps[5], maps[3], maps[1] + maps[2], maps[0]]
step = memlab.training_step(chains.layers(maps), "sgd")
again = memlab.recompute(step, "keep", layers=["fc2", "fc4"])
both = memlab.plan(memlab.offload(again, maps=["fc2", "fc4"], prefetch="needed"))
print(f"device, in backward: by hand {max(sums):,} B, planned {chains.held(both):,} B")

# %% [markdown]
# **With blanks.** Complete three lines, for any chain:

# %%
exercise = lesson.exercise("11.composed")
exercise.show()


# %% tags=["stub"]
def composed(maps, kept):
    sums, start, front = [], 0, 0
    for number in kept:
        sums.append(...)  # the segment before this checkpoint, and what it is made from
        start, front = number + 1, maps[number]
    device = max([*sums, ...])  # two more: the last segment, and the last checkpoint
    return [device, ...]  # what the host holds


# %% tags=["solution"]
def composed(maps, kept):
    sums, start, front = [], 0, 0
    for number in kept:
        sums.append(front + sum(maps[start:number]))
        start, front = number + 1, maps[number]
    device = max([*sums, sum(maps[start:]), front])
    return [device, sum(maps[number] for number in kept)]


# %%
exercise.check(composed)

# %% [markdown]
# More: [the cheapest pair](appendix/pairs.ipynb).
#
# ## What this lesson leaves out
#
# - Times are planned for a GeForce RTX 4070. On another card another choice may win.
# - Accumulation is not offered here: it cuts the batch, and batch norm would take its means over a
#   part.
# - Other ways out: a smaller batch, several GPUs, a smaller model, a larger GPU<sup>C8</sup>.
#
# Sources: C8.

# %% [markdown]
# ## The case so far

# %% tags=["planned-seconds"]
lesson.predict("11.case")

# %% tags=["solution", "picture-case", "planned-seconds"]
lesson.predict("11.case").guess("few").revise("twice").reveal()

# %% [markdown]
# ## Key points
#
# - A saving counts only at the peak, and each technique can move it. So two savings need not add
#   up.
# - Formats come first, then recompute, then offload, then in place.
# - First use what costs no time, then drop the feature maps with the most bytes for the least time.
# - Unused bytes save nothing: the fastest step that fits is best.
#
# Next: [12 Your own model](12_own_model.ipynb).
