# %% [markdown]
# # 07 In place and sharing: which tensors can live at the same address?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).

# %%
from memlab import lesson, network, views

net = network("tiny", features=3).linear(4, bias=False).relu().linear(2, bias=False).squared_error()
views.memory(net, 8, "sgd", networks=(), largest=8, height=157, only=("batch", "training"))

# %% [markdown]
# Set **Step** to inference: which operation is now the last reader of `relu1`? A bar is a block of
# memory, as high as its bytes. It goes from its first writer (dot) to its last reader (ring).
#
# You will be able to
#
# - say when each block of a step is freed, and which blocks are in memory at the peak,
# - say which output may overwrite which input, and how much memory that saves,
# - give each block an address, and compare an arena with its lower bound,
# - find a wrong address.
#
# Words: [liveness](glossary.md), [pool](glossary.md), [in place](glossary.md),
# [arena](glossary.md), [lower bound](glossary.md), [gradient map](glossary.md).

# %%
lesson.recall("07.waiting")

# %% tags=["solution"]
lesson.recall("07.waiting").guess("all").reveal()

# %%
lesson.recall("07.part")

# %% tags=["solution"]
lesson.recall("07.part").guess("mountain").reveal()

# %% [markdown]
# ## Which output may overwrite its input?
#
# Each block has a counter: how many operations still have to read it? At 0 the block is freed: it
# returns to the **pool**, and another tensor can use its bytes. The time until then is its
# **liveness**<sup>D1</sup>.
#
# Memory is freed only after an operation has finished. **In place** does not wait: the operation
# writes its output over its input. memlab refuses this where it would change a result.

# %%
lesson.predict("07.in_place")

# %% tags=["solution"]
lesson.predict("07.in_place").guess("both", because="both work value by value").revise(
    "act"
).reveal()

# %% [markdown]
# ## How much does in place save besides freeing?

# %%
lesson.predict("07.both")

# %% tags=["solution"]
lesson.predict("07.both").guess("product").revise("between").reveal()

# %% [markdown]
# More: [why the peak is 3 times smaller, and two ways to count](appendix/two_countings.ipynb).
#
# ## What does one wrong address do?
#
# Blocks have different sizes, so freed memory can be in pieces. memlab plans ahead: it allocates
# one large block, the **arena**, and gives each tensor an address in it. The blocks in memory at
# the peak must all fit: their sum is the **lower bound** of an arena. Here are six made-up blocks,
# each placed at the moment when it is written:

# %% tags=["picture-toy"]
views.addresses("toy", how="birth", optimum=False, only=("cursor",))

# %% [markdown]
# The last block finds two holes and fits into neither.
#
# PyTorch's **caching allocator** works in this way: it chooses an address when a tensor is created,
# and does not know which tensors will come later. Such holes are called **fragmentation**. To see
# them in your own training, call `torch.cuda.memory._record_memory_history()` before it and
# `torch.cuda.memory._dump_snapshot("snapshot.pickle")` after it. Open this **memory snapshot** at
# `pytorch.org/memory_viz`: "Allocator State History" shows addresses and holes. "Active Memory
# Timeline" only stacks the blocks that are in memory.

# %%
lesson.change("07.packed")

# %% tags=["solution"]
lesson.change("07.packed").guess("between").reveal()

# %% [markdown]
# Now a real step. Its arena is allocated, and every tensor is written at its address:

# %%
import memlab
from memlab import zoo

step = memlab.in_place(memlab.training_step(zoo.mnist_cnn(), "sgd").keep("gradients"))
packed = memlab.place(step, 32)
right = memlab.run(step, 32, placement=packed)
print(packed)
print(f"arena {right.arena:,} B measured, residual {right.residual} B")

# %% [markdown]
# The waste is the distance to the lower bound. The smallest possible arena may lie above
# this bound, so the waste is the most that a better placing could save.

# %%
lesson.predict("07.address")

# %% tags=["solution"]
lesson.predict("07.address").guess("stops").revise("gradients").reveal()

# %% [markdown]
# More: [the addresses of ResNet-50](appendix/addresses.ipynb).
#
# ## Exercise: what is freed after each operation?
#
# **Worked.** `relu1` of the first view, batch 8. **Shapes:** 8·4. **Bytes:** 8·4·4 B = 128 B.
# **Lifetime:** from `relu1` to its last reader, `backward of relu1`. **Peak:** in that
# operation, the sum of all blocks that are in memory there:

# %%
plan = memlab.plan(memlab.training_step(net, "sgd"))
found = plan.peak_at(8)
print(f"{found.nbytes} B in {found.row.name}:")
print(" + ".join(f"{entry.size.at(8)}" for entry in plan.alive(found.index)))
for row, now, left in zip(plan.rows, plan.timeline(8), plan.after(8), strict=True):
    print(f"{now - left} B freed after {row.name}; " if now > left else "", end="")

# %% [markdown]
# The same with lists; blocks and operations are numbered from 0:
# `freed(sizes=[4, 2], writes=[[0], [1]], reads=[[], [0]], kept=[1])` is `[0, 4]`. Block 0 is freed
# after operation 1, its last reader. Block 1 is kept.
#
# **With blanks.** Write it for any step:

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
        found[...] += sizes[block]  # after which operation is it freed?
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
# - PyTorch's allocator also rounds sizes up and keeps freed memory:
#   [12 Your own model](12_own_model.ipynb) counts these bytes.
# - A feature map that is recomputed need not stay in memory: lesson 08.
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
# - An output may overwrite its input if no later operation reads the input, and if the operation no
#   longer needs an input value when it writes over it.
# - Freeing saves most. In place helps where the peak is in an operation that can run in place.
# - The blocks in memory at the peak give the lower bound of an arena.
# - Memory bugs are silent. Compare gradients bit for bit.
#
# Next: [08 Recompute](08_recompute.ipynb). What if backward computes feature maps again?
