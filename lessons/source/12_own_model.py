# %% [markdown]
# # 12 Your own model: why does it take more than you computed?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).
#
# You will be able to
#
# - say what a card shows beyond parameters and feature maps,
# - find what your own loop keeps and nobody needs,
# - look where the peak is before you choose what makes a model fit,
# - say which part of a card's figure is a range, and why.
#
# Words: [peak](glossary.md), [recording](glossary.md), [recompute](glossary.md),
# [optimizer state](glossary.md), [workspace](glossary.md), [context](glossary.md),
# [fragmentation](glossary.md).

# %%
from importlib.util import find_spec

from memlab import lesson, views
from memlab.measure import timing
from memlab.placement.cudnn import with_largest_workspace

lesson.recall("12.when")

# %% tags=["solution"]
lesson.recall("12.when").guess("backward").reveal()

# %%
lesson.recall("12.state")

# %% tags=["solution"]
lesson.recall("12.state").guess("two").reveal()

# %% tags=["pytorch-recorded"]
views.memory(lesson.model("vgg11").step, 32)

# %% [markdown]
# This is VGG-11, **recorded** from PyTorch: one training step was watched, storage by storage, at
# two small batches, with the kernels that a card runs. So its plan holds at any batch. Set
# **Batch** to 64: what grows, what stays? A block has the name of its module.
#
# The models are in files, recorded without a card. Only the last part needs PyTorch.
#
# ## What takes more than you computed?
#
# A model reads sentences of 512 words, and gives a score for each of 32,000 words at each place.
# It has 4 layers, and is trained with Adam.

# %% tags=["numbers"]
{
    "512": 'dict(next(iter(memlab.lesson.model("words").step.ops[0].writes.values())).axes)["T"]',
    "32,000": 'dict(memlab.lesson.model("words").step.live_in[0].axes)["O"]',
}

# %% tags=["pytorch-recorded"]
more = lesson.predict("12.more")


@more.then
def of_words():
    return views.explain(lesson.model("words"), 32, "12 GB", only=("memory",))


more

# %% tags=["solution", "pytorch-recorded", "picture-more"]
more.guess("context", because="CUDA is large").revise("loss").reveal()

# %% [markdown]
# nvidia-smi counts the **context** of CUDA, libraries, and gaps that the allocator cannot use
# (**fragmentation**) too.
#
# A loop as many write it:
#
# ```python
# scores = model(tokens)
# loss = loss_fn(scores, targets)
# loss.backward()
# optimizer.step()
# ```

# %% tags=["pytorch-recorded"]
lesson.change("12.kept")

# %% tags=["solution", "pytorch-recorded"]
lesson.change("12.kept").guess("name").reveal()

# %% [markdown]
# ## What does the update take on a card?

# %% tags=["pytorch-recorded"]
optimizer = lesson.predict("12.optimizer")


@optimizer.then
def together_or_fused():
    return views.explain(lesson.model("vgg16"), 4, "3.8 GB")


optimizer

# %% tags=["solution", "pytorch-recorded", "picture-optimizer"]
optimizer.guess("fewer", because="half the feature maps").revise("single").reveal()

# %% [markdown]
# ## What does nvidia-smi show?

# %% tags=["pytorch-recorded"]
workspace = lesson.predict("12.workspace")


@workspace.then
def most_of_each_convolution():
    step = with_largest_workspace(lesson.model("vgg16_fused").step)
    return views.memory(step, 32, only=("batch",))


workspace

# %% tags=["solution", "pytorch-recorded", "picture-workspace"]
workspace.guess("half").revise("more").reveal()

# %% tags=["pytorch-recorded"]
smi = lesson.predict("12.smi")


@smi.then
def sum_on_the_card():
    return views.explain(lesson.model("vgg16_fused"), 40, "8 GB")


smi

# %% tags=["solution", "pytorch-recorded", "picture-smi"]
smi.guess("runs").revise("cudnn").reveal()

# %% [markdown]
# ## Exercise: what would be freed?
#
# **Worked.** Three blocks, as `(nbytes, born, last, freed)`. **Shapes** are gone: **bytes** are
# what counts. **Lifetime:** a block is alive from `born` to `freed`, both counted. **Peak:** the
# largest sum over operations.

# %%
blocks = [(100, 0, 1, 4), (20, 1, 3, 3), (50, 2, 4, 4)]
for t in range(5):
    alive = [nbytes for nbytes, born, last, freed in blocks if born <= t <= freed]
    needed = [nbytes for nbytes, born, last, freed in blocks if born <= t <= last]
    print(f"operation {t}: {sum(alive):3} B alive, {sum(needed):3} B needed")

# %% [markdown]
# **With blanks.** The same for any blocks: the peak as it is, and if each block were freed after
# `last`. **Alone:** which block costs the most by waiting?

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
# With PyTorch (`pip install "memlab[torch]"`) this plans a small network for your processor, trains
# it, and reads the peak of PyTorch's allocator. The row `memlab` contains the workspace of each
# kernel, measured; `memlab without workspace` does not. This takes about half a minute.

# %% tags=["nbval-ignore-output"]
print(timing.machine())
if find_spec("torch"):
    from memlab.lesson.material.torch_models import trained

    print(trained("small", 8).text())
else:
    print("PyTorch is not installed here: this cell needs it, the lesson does not.")

# %% [markdown]
# Now yours: functions that make the model and a mini-batch, the batch, the card.
#
# ```python
# memlab.explain(MyModel, lambda B: (inputs(B), targets(B)), batch=32, card="T4")
# ```
#
# It needs no card. It says what makes yours fit, with the line to paste. Is the peak where you
# thought it was?
#
# ## What this lesson leaves out
#
# - Which algorithm cuDNN chooses: the upper end is the largest workspace that is known.
# - Several cards, compiled code.
# - A model that branches on its data is recorded as it ran on the given data.
#
# Sources: A12, F3.

# %% [markdown]
# ## Key points
#
# - Add up what lives at **one moment**, and look for it where the widest map is<sup>A12</sup>.
# - A name in your loop holds what it names.
# - First where the peak is, then what helps: in the update, neither a smaller batch nor recompute
#   does; a fused or a leaner optimizer<sup>F3</sup> does.
# - A card shows a range: a batch surely fits where the upper end does.
#
# Next: [07 In place and sharing](07_sharing.ipynb).
