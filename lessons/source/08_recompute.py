# %% [markdown]
# # 08 Recompute: what if backward computes feature maps again?
#
# 45 minutes. Needs: [07 In place and sharing](07_sharing.ipynb).

# %%
from memlab import lesson, views

views.memory("resnet50", 32, budgets=(), free=False, height=160, only=("recompute", "batch"))

# %% [markdown]
# Set **Recompute** to `every k-th stage is kept` (here k = 5): forward drops most feature maps,
# and backward computes them again. Where does the peak move? Does backward become longer?
#
# You will be able to
#
# - say how many feature maps a step holds if it keeps every k-th one, and which k is best,
# - say how much time that costs,
# - choose which feature maps to drop, in a convolutional network and in a GPT.
#
# Words: [recompute](glossary.md), [checkpoint](glossary.md), [segment](glossary.md),
# [frontier](glossary.md), [budget](glossary.md).

# %%
lesson.recall("08.waiting")

# %% tags=["solution"]
lesson.recall("08.waiting").guess("last").reveal()

# %%
lesson.recall("08.fault")

# %% tags=["solution"]
lesson.recall("08.fault").guess("gradients").reveal()

# %% [markdown]
# ## How few feature maps must wait for backward?
#
# memlab cuts a network wherever a single feature map connects two parts: ResNet-50 becomes 21
# **stages**, smaller than those above. Forward keeps the output of every k-th stage, a
# **checkpoint**, and drops the other feature maps. Between two checkpoints is a **segment**.
# Backward recomputes the feature maps of a segment, uses them, and goes on to the segment before
# it. Each segment is a wave in the first view: fewer bytes, more operations<sup>E1</sup>. PyTorch
# calls this activation checkpointing (`torch.utils.checkpoint`).

# %%
lesson.predict("08.best")

# %% tags=["solution"]
lesson.predict("08.best").guess("9.2", because="every 10th is kept").revise(5).reveal()

# %%
lesson.change("08.hundred")

# %% tags=["solution"]
lesson.change("08.hundred").guess("half").reveal()

# %% [markdown]
# Does recompute change the result? Here a network with dropout and batch norm is trained both ways.
# Dropout draws the same values again; batch norm reuses its mean, and updates its running
# statistics only once:

# %%
import memlab
from memlab.lesson import chains, digits

step = memlab.training_step(digits.network(), "momentum").keep("gradients")
plain, again = memlab.run(step, 32), memlab.run(memlab.recompute(step), 32)
for what in ("gradients", "parameters"):
    one, other = getattr(plain, what), getattr(again, what)
    print(f"the same {what}, bit for bit:", all((one[n] == other[n]).all() for n in one))

# %% [markdown]
# ## What does half of the saving cost?
#
# The 21 stages of ResNet-50 form a **chain**. A schedule says which stages run again, and which
# feature maps are kept<sup>E6</sup>. The fastest schedules, one for each peak, are the
# **frontier**.

# %%
lesson.predict("08.half")

# %% tags=["solution", "picture-frontier"]
lesson.predict("08.half").guess("half").revise("less").reveal()

# %% [markdown]
# More: [inside a stage](appendix/exact.ipynb), and [a long chain with few
# checkpoints](appendix/slots.ipynb)<sup>E2</sup>.

# %%
lesson.predict("08.stages")

# %% tags=["solution", "picture-gpt"]
lesson.predict("08.stages").guess("same").revise("more").reveal()

# %% [markdown]
# ## Exercise: choose the checkpoints
#
# **Worked.** 6 linear layers, 250 samples; the third feature map is the checkpoint. **Shapes:**
# 250·60 to 250·10 values. **Bytes:** 4 for each value. **Lifetime:** the third feature map waits
# for its backward, and so do the last 3, which are not dropped. The first 2 are recomputed later.
# **Peak:** the larger of two sums. First the third feature map and the last 3 are in memory. Then
# these 4 are freed, and the first 2 are recomputed: now those 2 are in memory.

# %%
maps = [4 * 250 * features for features in (60, 50, 40, 30, 20, 10)]


def alive(maps, kept):
    held, start, sums = 0, 0, []
    for place in kept:
        sums.append(held + sum(maps[start:place]))
        held, start = held + maps[place], place + 1
    return max([*sums, held + sum(maps[start:])])


step = memlab.training_step(chains.layers(maps), "sgd")
each = memlab.plan(memlab.recompute(step, "keep", layers=["fc3"]))
print(f"by hand {alive(maps, [2]):,} B, planned {chains.held(each):,} B of {sum(maps):,} B")

# %% [markdown]
# **Alone.** Write a function that chooses; it may use `alive`. Your choice is planned, and compared
# with the best choice:

# %%
exercise = lesson.exercise("08.checkpoints")
exercise.show()


# %% tags=["stub"]
def checkpoints(maps):
    return None  # replace None


# %% tags=["solution"]
def checkpoints(maps):
    from itertools import combinations

    def peak(kept):  # alive, once more
        held, start, sums = 0, 0, []
        for place in kept:
            sums.append(held + sum(maps[start:place]))
            held, start = held + maps[place], place + 1
        return max([*sums, held + sum(maps[start:])])

    places = range(len(maps) - 1)
    choices = [kept for n in range(len(maps)) for kept in combinations(places, n)]
    return list(min(choices, key=peak))


# %%
exercise.check(checkpoints)

# %% [markdown]
# ## What this lesson leaves out
#
# - Time is planned here. `views.techniques(step, 8, measure=True)` measures it.
# - The floor stays: parameters, gradients, the optimizer's state.
# - Attention can recompute only its matrices<sup>F4</sup>, or never store them: **fused** attention
#   works in tiles, and stores 1 number for each row<sup>F5</sup>.
# - Feature maps can also wait in host memory: lesson 09.
#
# Sources: E1, E2, E6, F4, F5.

# %% [markdown]
# ## The case so far

# %%
lesson.predict("08.case")

# %% tags=["solution"]
lesson.predict("08.case").guess("11 GB").revise("6 GB").reveal()

# %% [markdown]
# ## Key points
#
# - A feature map that can be recomputed need not be kept. The results are the same, bit for bit.
# - For equal layers, keep every √n-th feature map: about 2·√n are in memory instead of n, for one
#   more forward. In ResNet-50, the stages hold much inside: there k = 1 needs least.
# - First drop the feature maps that take many bytes and little work.
# - A stage with large internals and a small output gains most, such as a block of a transformer.
#
# Next: [09 Offload](09_offload.ipynb). What if the feature maps wait in host memory?

# %% tags=["numbers"]
{
    "5": "__import__('memlab.techniques.recompute.segments', fromlist=['root']).root(21)",
    "21": "len(__import__('memlab.techniques.recompute.step_as_chain', fromlist=['cuts']).cuts("
    "memlab.training_step("
    "zoo.resnet50())).chain(32))",
}
