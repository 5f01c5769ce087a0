# %% [markdown]
# # 12 Your own model: why does it take more than you computed?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).

# %% tags=["pytorch-recorded"]
from memlab import lesson, views

views.memory(lesson.model("vgg11").step, 16, only=("batch",), budgets=())

# %% [markdown]
# This is one training step of VGG-11, **recorded** from PyTorch. Set **Batch** to 32: what grows,
# and what stays? A block has the name of its module. The models of this lesson are stored in files,
# so that only the last part needs PyTorch.
#
# You will be able to
#
# - say what a GPU shows beyond parameters and feature maps,
# - find what your own loop keeps and does not need,
# - look where the peak is before you choose a change,
# - explain why the memory that a GPU shows is a range.
#
# Words: [peak](glossary.md), [recording](glossary.md), [recompute](glossary.md),
# [optimizer state](glossary.md), [workspace](glossary.md), [context](glossary.md),
# [fragmentation](glossary.md).

# %%
lesson.recall("12.when")

# %% tags=["solution"]
lesson.recall("12.when").guess("backward").reveal()

# %%
lesson.recall("12.state")

# %% tags=["solution"]
lesson.recall("12.state").guess("two").reveal()

# %% [markdown]
# ## What takes more than you computed?
#
# A language model reads sentences of 512 words. At each place of a sentence it computes a score
# for each of 32,000 words. It has 4 layers and trains with Adam.

# %% tags=["numbers"]
{
    "512": 'dict(next(iter(memlab.lesson.model("words").step.ops[0].writes.values())).axes)["T"]',
    "32,000": 'dict(memlab.lesson.model("words").step.live_in[0].axes)["O"]',
}

# %% tags=["pytorch-recorded"]
lesson.predict("12.more")

# %% tags=["solution", "pytorch-recorded", "picture-more"]
lesson.predict("12.more").guess("context", because="CUDA is large").revise("loss").reveal()

# %% [markdown]
# Many training loops look like this:
#
# ```python
# scores = model(tokens)
# loss = loss_fn(scores, targets)
# optimizer.zero_grad()
# loss.backward()
# optimizer.step()
# ```

# %% tags=["pytorch-recorded"]
lesson.change("12.kept")

# %% tags=["solution", "pytorch-recorded"]
lesson.change("12.kept").guess("name").reveal()

# %% [markdown]
# Now the cure for the loss itself.

# %% tags=["pytorch-recorded"]
lesson.predict("12.chunks")

# %% tags=["solution", "pytorch-recorded", "picture-chunks"]
lesson.predict("12.chunks").guess(8, because="8 parts").revise(2.4).reveal()

# %% [markdown]
# ## What does the update take on a GPU?

# %% tags=["pytorch-recorded"]
lesson.predict("12.optimizer")

# %% tags=["solution", "pytorch-recorded", "picture-optimizer"]
lesson.predict("12.optimizer").guess("fewer", because="half the feature maps").revise(
    "single"
).reveal()

# %% [markdown]
# `torch.autocast` computes in 16 bits and saves bytes of activations. Parameters, gradients and the
# state of Adam stay in fp32, so a peak in the update stays where it is.
#
# ## Will it fit?

# %% tags=["pytorch-recorded"]
lesson.predict("12.smi")

# %% tags=["solution", "pytorch-recorded", "picture-smi"]
lesson.predict("12.smi").guess("runs").revise("cudnn").reveal()

# %% [markdown]
# ## Exercise: what could be freed earlier?
#
# **Worked.** There are three blocks, each `(nbytes, born, last, freed)`. Their **shapes** do not
# matter, only their **bytes**. **Lifetime:** a block is alive from operation `born` to operation
# `freed`, both included; `last` is its last reader. **Peak:** the largest sum of what is alive in
# an operation.

# %%
blocks = [(100, 0, 1, 4), (20, 1, 3, 3), (50, 2, 4, 4)]
for t in range(5):
    alive = [nbytes for nbytes, born, last, freed in blocks if born <= t <= freed]
    needed = [nbytes for nbytes, born, last, freed in blocks if born <= t <= last]
    print(f"operation {t}: {sum(alive):3} B alive, {sum(needed):3} B needed")

# %% [markdown]
# **With blanks.** Write it for any blocks: the peak as it is, and the peak if each block were freed
# after `last`.

# %%
exercise = lesson.exercise("12.late")
exercise.show()


# %% tags=["stub"]
def late(blocks):
    def peak(end):
        times = ...  # the operations, in order
        return max(sum(b[0] for b in blocks if ...) for t in times)

    return [peak(3), peak(2)]


# %% tags=["solution"]
def late(blocks):
    def peak(end):
        times = range(1 + max(block[end] for block in blocks))
        return max(sum(b[0] for b in blocks if b[1] <= t <= b[end]) for t in times)

    return [peak(3), peak(2)]


# %%
exercise.check(late)

# %% [markdown]
# ## Exercise: your own model
#
# With PyTorch (`pip install "memlab[torch]"`), the next cell plans a small network for your
# processor, trains it, and reads the peak of PyTorch's allocator. The row `memlab` includes the
# measured workspace of each kernel; `memlab without workspace` does not. It takes about half a
# minute.

# %% tags=["nbval-ignore-output"]
from importlib.util import find_spec

from memlab.measure import timing

print(timing.machine())
if find_spec("torch"):
    from memlab.lesson.material.torch_models import trained

    print(trained("small", 8).text())
else:
    print("PyTorch is not installed here: this cell needs it, the lesson does not.")

# %% [markdown]
# Now your model: give a function that makes it, one that makes a mini-batch, the batch size, and
# your GPU.
#
# ```python
# import memlab
#
# memlab.explain(MyModel, lambda B: (inputs(B), targets(B)), batch=32, card="T4")
# ```
#
# It needs no GPU. It says what makes your model fit, with the line to paste. Is the peak where you
# expected it?
#
# ## What this lesson leaves out
#
# - The algorithm that cuDNN chooses is not known: the upper end uses the largest known workspace.
# - Several GPUs and compiled code are not covered.
# - A model that branches on its data is recorded as it ran on the given data.
#
# Sources: F3.

# %% [markdown]
# ## Key points
#
# - Add up what is alive at **one moment**. Find that moment: for the language model it is in the
#   loss, for VGG in the middle of backward, and with Adam and few images in the update.
# - As long as a variable in your loop refers to a tensor, the tensor stays in memory.
# - Find the peak before you choose a change. If it is in the update, neither a smaller batch nor
#   recompute helps; a fused or smaller optimizer<sup>F3</sup> does. If it is in the loss, compute
#   the loss in chunks.
# - The memory that a GPU shows is a range. A batch surely fits if the upper end fits.
#
# Next: [13 A language model](13_language_model.ipynb), after lessons 07 and 08.
