# %% [markdown]
# # 07 In place and sharing: which tensors can live at the same address?
#
# 50 minutes. Needs: [02 A whole network](02_network.ipynb).
#
# You will be able to
#
# - say when each block of a step is taken, and when it is given back,
# - say which output may be written over which input, and why others may not,
# - give blocks addresses, and say how far you are from the smallest memory that is possible,
# - say what a wrong address does, and how to find it.
#
# Words: [liveness](glossary.md), [pool](glossary.md), [in place](glossary.md),
# [arena](glossary.md), [lower bound](glossary.md), [gradient map](glossary.md).

# %%
import memlab
from memlab import claims, lesson, units, views, zoo
from memlab.bench import torch_memory
from memlab.planner.placement import arrange

tiny = memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error()
views.memory(tiny, 8, "sgd", control=("in_place", "batch"), networks=())

# %% [markdown]
# A step of a tiny network. A bar is a block, as high as its bytes, from its first writer (dot) to
# its last reader (ring). Each block has a counter: how many readers are still to come? At 0 the
# block is given back to the **pool**, and its bytes can serve another tensor. This is **liveness**
# (D1). Who reads `relu1`, and who is the last?
#
# Now switch **In place** on: two blocks go. Why is the peak lower by less than one of them?

# %% [markdown] tags=["solution"]
# **Answer.** 3 readers: `fc2`, backward of `fc2`, backward of `relu1`. In place moves the peak to
# another operation, backward of `fc2`, which needs as much as before.

# %% [markdown]
# ## What does giving back save?

# %%
reuse = lesson.predict("07.reuse")
reuse

# %% tags=["solution"]
reuse.guess(2).reveal()

# %% [markdown]
# Large networks:

# %%
for claim in (*claims.find("D2"), *claims.find("D3")[:1]) if reuse.answered() else ():
    print(f"{claim.claim}  {claim.verdict}: {claim.result}")

# %% [markdown]
# In backward, each new gradient map comes as a map is given back. So in a chain of convolutions
# reuse saves nearly half: the more layers, the nearer to 2 times. Inference needs 2 maps.
#
# A text says that a paper cut memory 2 to 3 times, in place and by sharing, which is our reuse
# (Chen, Xu, Zhang and Guestrin, 2016). **In place**: an output lies where its input was. The paper
# counts 1 tensor for each output and 1 for each gradient. ResNet-50 v1.5 at batch 32, counted in
# both ways (A9):

# %%
resnet = zoo.build("resnet50", variant="v1.5")
ways = {"as in 2016": claims.chen2016(resnet), "memlab": memlab.training_step(resnet)}
if reuse.answered():
    print("maps, MiB    no reuse   in place      reuse       both   less: in place, both")
    for name, plain in ways.items():
        inside = memlab.in_place(plain)
        four = memlab.no_reuse(plain), memlab.no_reuse(inside), plain, inside
        held = [claims.maps(way, 32) for way in four]
        print(f"{name:10}", *(f"{nbytes / 2**20:10,.0f}" for nbytes in held), end="   ")
        print(f"{held[0] / held[1]:.2f} x, {held[0] / held[3]:.2f} x")

# %% [markdown]
# In place alone 1.9 and 2.2 times, both 3.0 and 3.6 times. Columns 3 and 4: reuse does nearly all.
# Why 3 times, not 2? Convolution, batch norm and ReLU make 3 maps and 3 gradient maps, and backward
# needs 2 of the maps: 6 against 2.
#
# **Change it.** In the first view open More, and switch training off. How many maps are alive at
# most, and what goes first?

# %% [markdown] tags=["solution"]
# **Answer.** 2: input and output of one layer. The input goes first: no backward needs it.

# %% [markdown]
# ## Which output may lie where its input is?
#
# Reuse waits until an operation has ended. In place goes one step further: the operation writes
# over what it reads. Three things must hold: the input's counter is 1 (nobody reads it later), each
# value is computed from the one in its place, and both have the same bytes.

# %%
in_place = lesson.predict("07.in_place")
in_place

# %% tags=["solution"]
in_place.guess("both").reveal()

# %% [markdown]
# memlab says where not, and why. The first layers of ResNet-50, and 1 operation of backward:

# %%
large = memlab.training_step(resnet)
first = ("conv1", "conv1.norm", "conv1.relu", "pool1", "backward of conv1.relu")
for layer in first if in_place.answered() else ():
    try:
        memlab.in_place(large, layers=[layer])
        print(f"{layer} can run in place.")
    except memlab.InputError as refused:
        print(refused)

# %% [markdown]
# Backward of batch norm reads the output of the convolution once more. Backward of ReLU needs only
# to know where its **output** was above 0, so its input may go. It may run in place too:
# nobody else reads the gradient that it reads. A window of a convolution or a pooling would read
# places that are overwritten already.
#
# So without reuse, in place saves nearly half of the maps of ResNet-50. After reuse?

# %%
for name, each in {"reuse": large, "and in place": memlab.in_place(large)}.items():
    print(f"{name:13} {units.both(memlab.plan(each).peak(16))}")

# %% [markdown]
# Little: reuse gives the input back one operation later anyway. In place helps where the peak lies
# in such an operation. Batch 16 again, beside PyTorch, which ran the same network with ReLU in
# place:

# %%
if in_place.answered():
    print(torch_memory.beside(memlab.in_place(large)))

# %% [markdown]
# The feature maps are the same. PyTorch takes more inside operations, and its peak comes later,
# with more gradients of parameters.
#
# **Change it.** Leave out `memlab.in_place` in this cell. Which 2 roles change most, and why?

# %% [markdown] tags=["solution"]
# **Answer.** Feature maps fall, gradients rise: the peak moves to a later operation of backward.

# %% [markdown]
# ## How much memory do lifetimes need?
#
# Blocks have different sizes: what was given back may be in pieces. So plan ahead: 1 large block,
# the **arena**, with an address in it for each tensor. No arena is smaller than what is alive in
# the busiest operation: the **lower bound**. Six made-up tensors:

# %%
birth = lesson.predict("07.birth")
birth

# %% tags=["solution"]
birth.guess("part").reveal()

# %%
if birth.answered():
    display(views.addresses("toy", how="birth", beside="biggest"))

# %% [markdown]
# Left to right is time, bottom to top are addresses. In order of birth the last block meets 2 holes
# of 3 MiB and needs 4. Biggest first ends at the lower bound. So nothing can be smaller.
#
# **Change it.** Press **Move mode** (or M), and pack by hand: Left and Right choose a block, Up and
# Down move it, Enter gives your score.
#
# Now a real step. Its arena is allocated, and every tensor written at its address:

# %%
small = memlab.training_step(zoo.mnist_cnn(), "sgd").keep("gradients")
inside, batch = memlab.in_place(small), 32
packed = memlab.place(inside, batch)
plain, placed = memlab.run(small, batch), memlab.run(inside, batch, placement=packed)
same = all((plain.gradients[name] == placed.gradients[name]).all() for name in plain.gradients)
print(packed)
print(f"arena {placed.arena:,} B measured, residual {placed.residual} B, same gradients: {same}")

# %% [markdown]
# Every gradient is the same, bit for bit. Now 1 wrong address: a block that backward writes is put
# on one that backward reads again.

# %%
silent = lesson.predict("07.silent")
silent

# %% tags=["solution"]
silent.guess("stops").reveal()

# %% [markdown]
# Now in the network above: the gradient of `flatten` is put on `pool1`.

# %%
if silent.answered():
    wrong = packed.moved("gradient of flatten", packed.address("pool1"))
    broken = memlab.run(inside, batch, placement=wrong, poison=False, overlapping=True)
    print("the same loss:", broken.loss == plain.loss)
    for name, right in plain.gradients.items():
        differ = (broken.gradients[name] != right).sum()
        print(f"{name:24} {differ:9,} of {right.size:9,} values differ")

# %% [markdown]
# Backward of `conv2` reads `pool1` to make the gradient of its weight. No message, the same loss,
# a wrong gradient. **Memory bugs are silent**: compare gradients bit for bit before you trust a
# map.
#
# **Change it.** Leave out `poison=False`: what is free is filled with NaN (not a number). Print
# `broken.nan`. Then leave out `overlapping=True`. What do you see each time?

# %% [markdown] tags=["solution"]
# **Answer.** The loss is still the same, but 2 operations have written NaN. Without
# `overlapping=True` memlab refuses the map before it runs.

# %% [markdown]
# ResNet-50 at batch 16, in place and placed: what is there before the step, and the arena.

# %%
done = memlab.in_place(large)
found, there = memlab.place(done, 16), memlab.plan(done).before(16)[0]
print(" + ".join(units.in_unit(part, "MiB", 0) for part in (there, found.arena)), end=" = ")
print(units.in_unit(there + found.arena, "MiB", 0))
views.addresses("resnet50", 16, how="best", in_place=True)

# %% [markdown]
# That is below the 1,549.9 MiB that were recorded of PyTorch, and above the plan, 1,510.2 MiB, by
# the waste of the arena: 0.6 % of its lower bound.
#
# ## Exercise: write the counter
#
# **Worked.** `relu1` of the first cell, batch 8. **Shapes:** 8·4. **Bytes:** 8·4·4 B = 128 B.
# **Lifetime:** from `relu1` to `backward of relu1`: backward of `fc2` reads it too, but earlier.
# **Peak:** in `backward of relu1`, the sum of what is alive there:

# %%
plan = memlab.plan(memlab.training_step(tiny, "sgd"))
found = plan.peak_at(8)
for entry in plan.alive(found.index):
    print(f"{entry.size.at(8):4} B {entry.name}")
print(f"{found.nbytes:4} B in operation {found.index + 1}, {found.row.name}")

# %% [markdown]
# The same with lists, numbered from 0:
# `freed(sizes=[4, 2], writes=[[0], [1]], reads=[[], [0]], kept=[1])` is `[0, 4]`. Block 0 goes back
# after operation 1, its last reader; block 1 is kept. The peak is 4 + 2 = 6 B, in operation 1.
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
# **Alone (may stay for home).** The peak, with reuse:

# %%
exercise = lesson.exercise("07.peak")
exercise.show()


# %% tags=["stub"]
def peak(sizes, writes, reads, kept):
    return None  # replace None


# %% tags=["solution"]
def peak(sizes, writes, reads, kept):
    last, alive, most, born = {}, 0, 0, set()
    for n in range(len(reads)):
        for block in reads[n] + writes[n]:
            last[block] = n
    for n in range(len(reads)):
        alive += sum(sizes[block] for block in writes[n] if block not in born)
        born.update(writes[n])
        most = max(most, alive)
        alive -= sum(sizes[b] for b in born if last[b] == n and b not in kept)
    return most


# %%
exercise.check(peak)

# %% [markdown]
# ## Exercise: write the placer
#
# **Alone (may stay for home).** The lowest free address, one block after the other:

# %%
exercise = lesson.exercise("07.addresses")
exercise.show()


# %% tags=["stub"]
def addresses(sizes, births, deaths):
    return None  # replace None


# %% tags=["solution"]
def addresses(sizes, births, deaths):
    found = []
    for n in range(len(sizes)):
        lives = [k for k in range(n) if births[k] <= deaths[n] and births[n] <= deaths[k]]
        spans = [(found[k], found[k] + sizes[k]) for k in lives]
        starts = sorted([0, *(high for _, high in spans)])
        free = (s for s in starts if all(s + sizes[n] <= a or b <= s for a, b in spans))
        found.append(next(free))
    return found


# %%
exercise.check(addresses)

# %% [markdown]
# Your placer on the tensors of the digits network of lesson 06, in 2 orders:

# %%
blocks = memlab.place(memlab.training_step(lesson.digits.network(), "sgd"), 8).blocks
orders = {"birth": blocks, "biggest": sorted(blocks, key=lambda block: -block.nbytes)}
ready = addresses([1], [0], [0])
if not ready:
    print("Write `addresses` first, then run this cell again.")
for name, order in orders.items() if ready else ():
    columns = zip(*((block.nbytes, block.birth, block.death) for block in order), strict=True)
    sizes, births, deaths = map(list, columns)
    ends = [at + n for at, n in zip(addresses(sizes, births, deaths), sizes, strict=True)]
    best = arrange(blocks, "exact", alignment=1)
    print(f"{name:8} your top {max(ends):,} B", end=", ")
    print(f"lower bound {best.lower_bound:,} B, exact optimum {best.arena:,} B")

# %% [markdown]
# Neither is the optimum. memlab places again and again; each time the block that ended at the top
# is placed earlier.
#
# ## What this lesson leaves out
#
# - Allocators that do not know the future: they keep given-back blocks sorted by size, and lose
#   more bytes in holes between blocks (fragmentation).
# - Fewer bytes because a map is computed again: lesson 08.
# - Speed. Addresses are planned once, before the first step.

# %% [markdown]
# ## Key points
#
# - A block is needed from its first writer to its last reader.
# - In place: nobody reads the input later, and each value depends on the one in its place.
# - The busiest operation gives the lower bound. The order of placing decides how near you come.
# - Memory bugs are silent. Compare gradients.

# %% tags=["numbers"]
{
    "1.9": "(lambda s: claims.maps(memlab.no_reuse(s), 32) / claims.maps(memlab.no_reuse("
    "memlab.in_place(s)), 32))(memlab.training_step(zoo.build('resnet50', variant='v1.5')))",
    "2.2": "(lambda s: claims.maps(memlab.no_reuse(s), 32) / claims.maps(memlab.no_reuse("
    "memlab.in_place(s)), 32))(claims.chen2016(zoo.build('resnet50', variant='v1.5')))",
    "3.0": "(lambda s: claims.maps(memlab.no_reuse(s), 32) / claims.maps(memlab.in_place(s), 32))("
    "memlab.training_step(zoo.build('resnet50', variant='v1.5')))",
    "3.6": "(lambda s: claims.maps(memlab.no_reuse(s), 32) / claims.maps(memlab.in_place(s), 32))("
    "claims.chen2016(zoo.build('resnet50', variant='v1.5')))",
    "0.6 %": "(lambda p: p.waste / p.lower_bound)(memlab.place(memlab.in_place("
    "memlab.training_step(zoo.build('resnet50', variant='v1.5'))), 16))",
}
