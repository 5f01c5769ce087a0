# %% [markdown]
# # 07 In place and sharing: which tensors can live at the same address?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).
#
# You will be able to
#
# - say when each block of a step is given back, and what is alive at the peak,
# - say which output may be written over which input, and what that saves,
# - give blocks addresses, and say how far you are from the smallest memory that is possible,
# - find a wrong address.
#
# Words: [liveness](glossary.md), [pool](glossary.md), [in place](glossary.md),
# [arena](glossary.md), [lower bound](glossary.md), [gradient map](glossary.md).

# %%
import memlab
from memlab import lesson, units, views, zoo

lesson.recall("07.waiting")

# %% tags=["solution"]
lesson.recall("07.waiting").guess("all").reveal()

# %%
lesson.recall("07.part")

# %% tags=["solution"]
lesson.recall("07.part").guess("mountain").reveal()

# %%
tiny = memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error()
views.memory(tiny, 8, "sgd", networks=(), only=("batch", "training"))

# %% [markdown]
# A step of a tiny network. A bar is a block, as high as its bytes, from its first writer (dot) to
# its last reader (ring). Switch **Training** off, and on again: which bars become shorter, and who
# reads `relu1` last?
#
# Each block has a counter: how many readers are still to come? At 0 the block is given back to the
# **pool**, and its bytes can serve another tensor. This is **liveness**<sup>D1</sup>.

# %% [markdown]
# ## Which output may lie where its input is?
#
# Giving back waits until an operation has ended. **In place** does not wait: the operation writes
# its output over an input. memlab refuses where that would change a result. Two networks:

# %%
resnet = memlab.training_step(zoo.resnet50())
gpt = memlab.training_step(zoo.gpt_small())

# %%
in_place = lesson.predict("07.in_place")


@in_place.then
def first_layers():
    for layer in ("conv1", "conv1.norm", "conv1.relu", "pool1", "backward of conv1.relu"):
        try:
            memlab.in_place(resnet, layers=[layer])
            print(layer, "may")
        except memlab.InputError as refused:
            print(refused)
    return views.memory(tiny, 8, "sgd", networks=(), only=("in_place", "batch"))


in_place

# %% tags=["solution"]
in_place.guess("both", because="both go value by value").revise("act").reveal()

# %% [markdown]
# ## What does in place add to giving back?
#
# With each of the two, maps take fewer bytes at once. Large networks, batch 32:

# %%
both = lesson.predict("07.both")


@both.then
def two_peaks():
    for name, step in {"ResNet-50": resnet, "small GPT": gpt}.items():
        for way, each in {"giving back": step, "and in place": memlab.in_place(step)}.items():
            print(f"{name}, {way:13} peak {units.short(memlab.plan(each).peak(32))}")


both

# %% tags=["solution"]
both.guess("product").revise("reuse").reveal()

# %% [markdown]
# More: [why 3 times, and two ways to count](appendix/two_countings.ipynb).
#
# ## What does one wrong address do?
#
# Blocks have different sizes, so what was given back may be in pieces. Plan ahead: 1 large block,
# the **arena**, and in it an address for each tensor. No arena is smaller than what is alive in
# the busiest operation: the **lower bound**. Six made-up blocks, placed as they are born:

# %% tags=["picture-toy"]
views.addresses("toy", how="birth", only=("cursor", "numbers"))

# %% [markdown]
# Left to right is time, bottom to top are addresses. The last block finds 2 holes, and fits into
# neither.

# %%
lesson.change("07.packed")

# %% tags=["solution"]
lesson.change("07.packed").guess("between").reveal()

# %% [markdown]
# Now a real step. Its arena is allocated, and every tensor written at its address:

# %%
step = memlab.in_place(memlab.training_step(zoo.mnist_cnn(), "sgd").keep("gradients"))
packed = memlab.place(step, 32)
right = memlab.run(step, 32, placement=packed)
print(packed)
print(f"arena {right.arena:,} B measured, residual {right.residual} B")

# %% [markdown]
# In the card, two tensors that live together get the same address:

# %%
address = lesson.predict("07.address")


@address.then
def in_the_step_above():
    there = packed.moved("gradient of flatten", packed.address("pool1"))
    other = memlab.run(step, 32, placement=there, poison=False, overlapping=True)
    print(f"loss: {right.loss:.6g} and {other.loss:.6g}")
    for name, values in right.gradients.items():
        equal = (other.gradients[name] == values).sum()
        print(f"{name:24} {equal:9,} of {values.size:9,} values are equal")


address

# %% tags=["solution"]
address.guess("stops").revise("gradients").reveal()

# %% [markdown]
# More: [the addresses of ResNet-50](appendix/addresses.ipynb).
#
# ## Exercise: write the counter
#
# **Worked.** `relu1` of the first cell, batch 8. **Shapes:** 8·4. **Bytes:** 8·4·4 B = 128 B.
# **Lifetime:** from `relu1` to its last reader, `backward of relu1`. **Peak:** in that operation,
# the sum of what is alive there:

# %%
plan = memlab.plan(memlab.training_step(tiny, "sgd"))
found = plan.peak_at(8)
print(f"{found.nbytes} B in {found.row.name}:")
print(" + ".join(f"{entry.size.at(8)}" for entry in plan.alive(found.index)))

# %% [markdown]
# The same with lists, numbered from 0:
# `freed(sizes=[4, 2], writes=[[0], [1]], reads=[[], [0]], kept=[1])` is `[0, 4]`. Block 0 goes back
# after operation 1, its last reader; block 1 is kept.
#
# **With blanks.** For any step:

# %%
exercise = lesson.exercise("07.freed")
exercise.show()


# %% tags=["stub"]
def freed(sizes, writes, reads, kept):
    last = {}
    for n in range(len(reads)):
        for block in reads[n] + writes[n]:
            last[block] = ...  # the last operation that needs it, so far
    found = [0] * len(reads)
    for block in last.keys() - set(kept):
        found[...] += sizes[block]  # after which operation is it given back?
    return found


# %% tags=["solution"]
def freed(sizes, writes, reads, kept):
    last = {}
    for n in range(len(reads)):
        for block in reads[n] + writes[n]:
            last[block] = n
    found = [0] * len(reads)
    for block in last.keys() - set(kept):
        found[last[block]] += sizes[block]
    return found


# %%
exercise.check(freed)

# %% [markdown]
# ## What this lesson leaves out
#
# - Allocators that do not know the future lose more bytes in holes between blocks (fragmentation).
# - Fewer bytes because a feature map is computed again: lesson 08.
#
# Sources: D1.

# %% [markdown]
# ## The case so far

# %%
lesson.predict("07.case")

# %% tags=["solution", "picture-case"]
lesson.predict("07.case").guess("half").revise("hardly").reveal()

# %% [markdown]
# ## Key points
#
# - A block is needed from its first writer to its last reader.
# - In place: nobody reads the input later, and each value depends on the one in its place.
# - Giving back saves most; in place helps where the peak lies in such an operation.
# - The busiest operation gives the lower bound of an arena.
# - Memory bugs are silent. Compare gradients bit for bit.
#
# Next: [08 Recompute](08_recompute.ipynb). What if backward makes feature maps again?
