# %% [markdown]
# # 08 Recompute: what if backward makes feature maps again?
#
# 45 minutes. Needs: [07 In place and sharing](07_sharing.ipynb).
#
# You will be able to
#
# - say how many feature maps a step holds if every k-th is kept, and which k is best,
# - say what that costs in time,
# - choose what to drop, in a convolutional network and in a GPT.
#
# Words: [recompute](glossary.md), [checkpoint](glossary.md), [segment](glossary.md),
# [frontier](glossary.md), [budget](glossary.md).

# %%
import memlab
from memlab import lesson, views, zoo
from memlab.lesson import chains, digits

lesson.recall("08.waiting")

# %% tags=["solution"]
lesson.recall("08.waiting").guess("last").reveal()

# %%
lesson.recall("08.fault")

# %% tags=["solution"]
lesson.recall("08.fault").guess("gradients").reveal()

# %%
resnet = zoo.resnet50()
views.memory(resnet, 32, networks=(), only=("recompute", "batch"))

# %% [markdown]
# Backward reads feature maps, so a step keeps them: the mountain. memlab cuts a network wherever 1
# map alone goes on: ResNet-50 becomes 21 **stages**. Set **Recompute** to every k-th. Forward now
# drops most maps, and keeps some, the **checkpoints**. Between two of them lies a **segment**:
# backward makes its maps again, reads them, and goes on to the next. These are the waves. Fewer
# bytes, more operations: **recompute**<sup>E1</sup>.

# %% [markdown]
# ## How few feature maps must wait?

# %%
best = lesson.predict("08.best")


@best.then
def move_k():
    chain = chains.alike(100)
    return views.memory(chain, 2500, "sgd", recompute="every", k=2, only=("k",))


best

# %% tags=["solution"]
best.guess("9.2", because="every 10th is kept").revise(5).reveal()

# %%
lesson.change("08.hundred")

# %% tags=["solution"]
lesson.change("08.hundred").guess("again").reveal()

# %% [markdown]
# ## How often must a layer run?

# %%
runs = lesson.predict("08.runs")


@runs.then
def the_same_bits():
    step = memlab.training_step(digits.network(), "momentum").keep("gradients")
    plain, again = memlab.run(step, 32), memlab.run(memlab.recompute(step), 32)
    for what in ("gradients", "parameters"):
        one, other = getattr(plain, what), getattr(again, what)
        print(f"the same {what}, bit for bit:", all((one[n] == other[n]).all() for n in one))
    print("run again:", ", ".join(op.layer for op in again.step.ops if " again" in op.name))
    print(f"residual {again.residual} B")


runs

# %% tags=["solution"]
runs.guess(20).revise("2.0").reveal()

# %% [markdown]
# More: [the fastest schedule](appendix/slots.ipynb)<sup>E2</sup>.
#
# ## What does half of the saving cost?
#
# The 21 stages of ResNet-50 are a **chain**. A schedule says which stages run when, and what is
# kept<sup>E6</sup>.

# %%
half = lesson.predict("08.half")


@half.then
def bytes_against_time():
    return views.techniques(memlab.training_step(resnet), 32, stop=3, guess=half.option)


half

# %% tags=["solution", "picture-frontier"]
half.guess("half").revise("less").reveal()

# %% [markdown]
# More: [inside a stage](appendix/exact.ipynb).

# %%
stages = lesson.predict("08.stages")


@stages.then
def waves_of_a_gpt():
    return views.recompute("gpt_small", k=1, batch=32)


stages

# %% tags=["solution", "picture-gpt"]
stages.guess("same").revise("more").reveal()

# %% [markdown]
# ## Exercise: choose the checkpoints
#
# **Worked.** 6 linear layers, 250 samples; the third map is the checkpoint. **Shapes:** 250·60 to
# 250·10 values. **Bytes:** 4 each. **Lifetime:** the third waits for its backward, and so do the
# last 3: they are not dropped. The first 2 are made again later. **Peak:** the larger of two sums:
# the third and the last 3, or, when these are gone, the first 2.

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
# **Alone.** Choose, with `alive` at hand. Your choice is planned, and scored against the least that
# is possible:

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
# - Time here is planned by the clock. Measured: `views.techniques(step, 8, measure=True)`.
# - The floor stays: parameters, gradients, the optimizer's state.
# - Attention's matrices alone can be made again<sup>F4</sup>, or never stored: **fused** attention
#   goes by tiles, and stores 1 number for each row<sup>F5</sup>.
# - Maps that wait in host memory: lesson 09.
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
# - A map that can be made again need not be kept. The results are the same, bit for bit.
# - Every √n-th map: about 2·√n maps instead of n, for one more forward.
# - Drop first what takes many bytes and little work.
# - A stage that holds much and hands on little gains most: so does a block of a transformer.
#
# Next: [09 Offload](09_offload.ipynb). What if the maps wait in host memory?

# %% tags=["numbers"]
{
    "21": "len(__import__('memlab.techniques.recompute.step_as_chain', fromlist=['cuts']).cuts("
    "memlab.training_step("
    "zoo.resnet50())).chain(32))",
}
