# %% [markdown]
# # 08 Recompute: how much memory does one more forward pass buy?
#
# 50 minutes. Needs: [07 In place and sharing](07_sharing.ipynb).
#
# You will be able to
#
# - say how many maps wait for backward if every k-th is kept, and what that costs,
# - choose which maps to drop, by their bytes and by the work to make them again,
# - tell least memory from least time within a budget.
#
# Words: [recompute](glossary.md), [checkpoint](glossary.md), [segment](glossary.md),
# [frontier](glossary.md), [budget](glossary.md), [slot](glossary.md),
# [fused attention](glossary.md).

# %%
import memlab
from memlab import claims, lesson, units, views, zoo
from memlab.lesson import chains, digits
from memlab.planner import slots

step = memlab.training_step(zoo.build("resnet50", variant="v1.5"))
for name, each in {"plain": step, "recompute": memlab.recompute(step)}.items():
    peak = memlab.plan(each).peak(32)
    print(f"{name:10}{len(each.ops)} operations, peak {units.both(peak)}")

# %% [markdown]
# Backward reads feature maps, so a step keeps them. The second step drops most of them in forward,
# and makes them again from those that it kept, its **checkpoints**. Fewer bytes, more operations:
# **recompute**.

# %% [markdown]
# ## Every k-th map is kept, and the others are made again
#
# Between two checkpoints lies a **segment**. Which k is best?

# %%
kept = lesson.predict("08.kept")
kept

# %% tags=["solution"]
kept.guess("2.5 MB").reveal()

# %%
chain = memlab.training_step(chains.alike(100), "sgd")
for k in (2, 4, 10, 25, 50) if kept.answered() else ():
    each = memlab.recompute(chain, "every", k=k)
    held = chains.held(memlab.plan(each), source=True)
    print(f"k = {k:2}: {units.in_unit(held, 'MB', 1)} of maps, {len(each.ops)} operations")

# %% [markdown]
# At most k + n/k maps are alive (E1): those of 1 segment, and the checkpoints. The sum is smallest
# near k = √n: about 2·√n maps (Chen et al., 2016). The work is the same for each k: every map is
# made once more. Longer chains gain more:

# %%
for n in (100, 152, 1000):
    k, maps = slots.sqrt_slots(n)
    print(f"{n:4} layers: {maps} maps, with k = {k}")

# %% [markdown]
# What does it cost? One more forward.

# %%
longer = lesson.predict("08.longer")
longer

# %% tags=["solution"]
longer.guess("1.50").reveal()

# %% [markdown]
# Now a network. Height is memory, width is time. Move **k**:

# %%
if longer.answered():
    display(views.recompute("resnet50", k=5, batch=32))

# %% [markdown]
# Green is what forward keeps, dotted is what backward makes again, segment by segment: these are
# the **waves**. Whatever k is, most of forward runs again.
#
# **Change it.** Which k is least? And for ResNet-200? Why is it not √n?

# %% [markdown] tags=["solution"]
# **Answer.** 1, and 5. The rule is for layers that are all alike. A stage of ResNet-50 holds
# several times what it hands on, so short waves save most. ResNet-200 has more stages: at 1 their
# checkpoints are a hill.

# %% [markdown]
# Is the result the same? A network with batch norm and dropout, run twice:

# %%
step = memlab.training_step(digits.network(), "momentum").keep("gradients")
plain, again = memlab.run(step, 32), memlab.run(memlab.recompute(step), 32)
for what in ("gradients", "parameters"):
    one, other = getattr(plain, what), getattr(again, what)
    print(f"the same {what}, bit for bit:", all((one[n] == other[n]).all() for n in one))
print("run again:", ", ".join(op.layer for op in again.step.ops if " again" in op.name))
print(f"residual {again.residual} B")

# %% [markdown]
# Dropout draws the same values again. A batch norm that runs again uses its kept mean, and its
# running statistics, compared among the parameters, move once.
#
# **Change it.** Add 100 to the values of k above. Why does it save nothing?

# %% [markdown] tags=["solution"]
# **Answer.** There is no checkpoint in between: backward makes all 100 maps at once.

# %% [markdown]
# ## What do the first bytes cost, and the last ones?
#
# Maps differ. Batch norm and ReLU compute little for each byte that they write, a convolution
# much. So drop the cheap ones alone:

# %%
step = memlab.training_step(zoo.build("resnet50", variant="v1.5"))
for how in ("every", "cheap"):
    each = memlab.recompute(step, how)
    more = claims.extra_work(step, each, 32)
    print(f"{how:6}{units.both(memlab.plan(each).peak(32))}, {more:6.1%} more arithmetic")

# %% [markdown]
# memlab cuts a network wherever 1 map alone is handed on: ResNet-50 becomes a **chain** of 21
# stages. A schedule says which stages run when, and what is stored. It runs whole stages, and what
# a stage reads is counted until the stage ends. Among all such schedules there is a least peak, and
# for each budget a least time (E6). These best pairs of bytes and time are the **frontier**.

# %%
half = lesson.predict("08.half")
half

# %% tags=["solution"]
half.guess("half").reveal()

# %%
if half.answered():
    display(views.techniques(step, 32, stop=3, guess=half.option))

# %% [markdown]
# Left is less memory, down is faster. Move the **budget**: the fastest schedule within it. `cheap`
# lies below the line: it drops maps inside a stage, and schedules of whole stages cannot.
#
# Least memory, and least time within a budget, are two questions:

# %%
for budget in ("2 GB", "1.5 GB", "1 GB") if half.answered() else ():
    try:
        each = memlab.recompute(step, "chain", batch=32, budget=budget)
        more = claims.extra_work(step, each, 32)
        print(f"{budget}: {units.both(memlab.plan(each).peak(32))}, {more:.1%} more arithmetic")
    except memlab.InputError as refused:
        print(f"{budget}: {refused}")

# %% [markdown]
# By this count no schedule of whole stages needs less than that minimum: a smaller budget is
# refused.
#
# A text says that recompute cuts ResNet-50 4 times (A10). Its source has no such figure: its
# example is ResNet-200. Deep chains gain more:

# %%
for claim in claims.find("A10") if half.answered() else ():
    print(f"{claim.claim}  {claim.verdict}: {claim.result}")

# %% [markdown]
# **Change it.** In the view, put `"vgg16", 8` for `step, 32`. Why is so little saved?

# %% [markdown] tags=["solution"]
# **Answer.** Most of its peak are parameters, their gradients and momentum. Recompute drops maps.

# %% [markdown]
# ## A long chain needs few slots
#
# A recurrent network repeats a step: here 1,000 times. A text says: 20 times less memory for 30 %
# more compute (DeepMind, 2023). A **slot** holds what backward of 1 step needs. The best schedule
# fills slots again when they become free, so a step may run more than twice.

# %%
runs = lesson.predict("08.runs")
runs

# %% tags=["solution"]
runs.guess(20).reveal()

# %%
if runs.answered():
    for m in (10, 20, 50, 100):
        forwards = slots.internal_state(1000, m)
        more = slots.extra_time(1000, forwards)
        print(f"{m:3} slots: {forwards / 1000:.3f} forward runs per step, {more:.1%} more time")
    for claim in claims.find("A11")[:2]:
        print(f"{claim.claim}  {claim.verdict}: {claim.result}")

# %% [markdown]
# So the figures hold for slots; the year does not (Gruslys et al., 2016). From 50 slots on, more of
# them save little time.
#
# Now a run. In this network backward of a step reads 2 maps: its own and that of the step before.
# So `k` counts stored maps, and a stored map serves 2 steps:

# %%
step, batch = memlab.training_step(zoo.rnn(steps=1000, hidden=32), "sgd").keep("gradients"), 4
plain = claims.maps(step, batch)
for k in (50, 47) if runs.answered() else ():
    each = memlab.recompute(step, "slots", k=k)
    maps, more = claims.maps(each, batch), claims.extra_work(step, each, batch)
    print(f"k = {k}: maps {maps:,} B in place of {plain:,} B, {plain / maps:.2f} times less")
    print(f"        {more:.1%} more arithmetic, residual {memlab.run(each, batch).residual} B")

# %% [markdown]
# Beside the stored maps, 3 of the step that runs are alive. So 47 stored maps, not 50, make it 20
# times. The arithmetic grows by more than 31.7 %: here backward takes less than 2 times that of
# forward, because no gradient of the inputs is wanted.
#
# **Change it.** Put 10 for 47. What do the next bytes cost?

# %% [markdown] tags=["solution"]
# **Answer.** Much more: 118.6 % more arithmetic.

# %% [markdown]
# ## Exercise: choose the checkpoints
#
# **Worked.** 6 linear layers, 250 samples; the third map is the checkpoint. **Shapes:** 250·60 to
# 250·10 values. **Bytes:** 4 each. **Lifetime:** the third waits for its backward, and so do the
# last 3: `keep` does not drop them. The first 2 are made again later. **Peak:** the larger of two
# sums: the third with the last 3, and, later, the first 2.

# %%
maps = [4 * 250 * features for features in (60, 50, 40, 30, 20, 10)]
step = memlab.training_step(chains.layers(maps), "sgd")
each = memlab.recompute(step, "keep", layers=["fc3"])
print(f"the larger of {sum(maps[2:]):,} B and {sum(maps[:2]):,} B")
print(f"planned: {chains.held(memlab.plan(each)):,} B in place of {sum(maps):,} B")

# %% [markdown]
# **With blanks.** Any maps, any checkpoints:

# %%
exercise = lesson.exercise("08.alive")
exercise.show()


# %% tags=["stub"]
def alive(maps, kept):
    held, start, sums = 0, 0, []
    for place in kept:
        sums.append(...)  # this segment, and the kept maps before it
        held, start = ..., place + 1
    return None  # replace None


# %% tags=["solution"]
def alive(maps, kept):
    held, start, sums = 0, 0, []
    for place in kept:
        sums.append(held + sum(maps[start:place]))
        held, start = held + maps[place], place + 1
    return max([*sums, held + sum(maps[start:])])


# %%
exercise.check(alive)

# %% [markdown]
# **Alone.** Choose. Your choice is planned, and scored against the least that is possible:

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
# Your choice beside every k-th, and beside the chain's optimum:

# %%
maps = [1000 * n for n in (16, 16, 32, 48, 64, 64, 80, 96, 64, 48, 32, 16)]
step = memlab.training_step(chains.layers(maps), "sgd")
ways = {"every k-th": memlab.recompute(step), "chain": memlab.recompute(step, "chain", batch=250)}
if checkpoints([1000, 1000]) is not None:
    names = [f"fc{n + 1}" for n in checkpoints(maps)]
    ways["yours"] = memlab.recompute(step, "keep", layers=names)
for name, each in ways.items():
    print(f"{name:11}peak {memlab.plan(each).peak(250):7,} B, {len(each.ops)} operations")

# %% [markdown]
# The chain makes some maps more than twice, and counts gradient maps too.

# %% [markdown]
# ## Appendix A: transformers
#
# A layer of a transformer keeps s·b·h·(34 + 5·a·s/h) bytes in 16 bits (Korthikanti et al., 2022),
# for sequence length s, batch b, hidden size h, a heads. The second term is the s·s matrices of
# attention: most bytes, little work. So drop them alone (F4). Or never store them: **fused**
# attention goes by tiles, and keeps 1 number for each row (F5).

# %%
for claim in claims.find("F4") + claims.find("F5"):
    print(f"{claim.claim}  {claim.verdict}: {claim.result}")

# %% [markdown]
# F5's figures were measured, the formula gives somewhat less. A small network, run here. While
# backward of a layer runs, `selective` holds its matrices; `fused` never does:

# %%
small = {"steps": 512, "layers": 3, "features": 64, "heads": 4, "vocabulary": 100, "dropout": 0}
step = memlab.training_step(zoo.gpt2(**small))
kinds = ["attention_scores", "attention_softmax"]
ways = {"plain": step, "selective": memlab.recompute(step, "drop", layers=kinds)}
ways["fused"] = memlab.training_step(zoo.gpt2(**small, attention="fused"))
for name, each in ways.items():
    done = memlab.run(each, 2)
    print(f"{name:10}maps {units.both(claims.maps(each, 2))}, residual {done.residual} B")

# %% [markdown]
# ## Appendix B: inside a stage
#
# 3 convolutions, and a concat that reads all their outputs. The last 2 of them and the concat are 1
# stage: between them no map is handed on alone. `exact` looks inside: it decides for each operation
# when it runs again, as an integer program (E6):

# %%
first = memlab.network("skips", image=(8, 16, 16)).conv(8, 3, pad=1)
second = first.conv(8, 3, pad=1)
joined = first.concat(second, second.conv(8, 3, pad=1))
step = memlab.training_step(joined.conv(4, 1).squared_error(), "sgd")
for how in ("chain", "exact"):
    each = memlab.recompute(step, how, batch=8)
    repeats = [op.name for op in each.ops if " again" in op.name]
    print(f"{how}: {memlab.plan(each).peak(8):,} B, {repeats}")

# %% [markdown]
# `chain` runs a stage again once, without what nobody reads. `exact` lets go of `conv1` in between
# and makes it a third time, so it takes less. It proves its answer, for at most 24 operations.

# %% [markdown]
# ## What this lesson leaves out
#
# - Time here is planned or counted. Measured: `views.techniques(step, 8, measure=True)`.
# - The floor stays: parameters, gradients, the optimizer's state.
# - Maps that wait in host memory: lesson 09.

# %% [markdown]
# ## Key points
#
# - A map that can be made again need not be kept. The results are the same, bit for bit.
# - Every √n-th map: about 2·√n maps in place of n, for one more forward.
# - Drop first what takes many bytes and little work.
# - Least memory and least time within a budget are two questions.

# %% tags=["numbers"]
{
    "118.6 %": "(lambda step: claims.extra_work(step, memlab.recompute(step, 'slots', k=10), 4))"
    "(memlab.training_step(zoo.rnn(steps=1000, hidden=32), 'sgd'))",
    "24": "__import__('memlab.planner.graphs', fromlist=['LARGEST']).LARGEST",
}
