# %% [markdown]
# # 12 Your own model: why does it take more than you computed?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).
#
# You will be able to
#
# - say what a card shows beyond parameters and maps, for a model of PyTorch,
# - find what your own loop keeps and nobody needs,
# - look where the peak is before you choose what makes a model fit.
#
# Words: [peak](glossary.md), [recording](glossary.md), [recompute](glossary.md),
# [optimizer state](glossary.md), [context](glossary.md), [fragmentation](glossary.md).

# %%
from importlib.util import find_spec

import memlab
from memlab import lesson, units, views
from memlab.measure import timing

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
# two small batches. So its plan holds at any batch. Set **Batch** to 64: what grows, what stays?
# Point at a block: its name is that of a module.
#
# The models here lie in files, recorded with PyTorch. You do not need it, but for the last part.
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
# nvidia-smi counts more than tensors: the **context** of CUDA, libraries, and gaps that the
# allocator cannot use (**fragmentation**). Planned, simulated and recorded are named for each row.
#
# ## What does PyTorch keep that nobody needs?
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
kept = lesson.predict("12.kept")


@kept.then
def as_it_is_and_freed_early():
    for name, batch in (("words", 32), ("kept", 32), ("vgg16", 8)):
        step = lesson.model(name).step
        peaks = (memlab.plan(each).peak(batch) for each in (step, memlab.release(step)))
        held, freed = map(units.short, peaks)
        print(f"{name:6} batch {batch:2}: {held}, all freed after their last reader {freed}")


kept

# %% tags=["solution", "pytorch-recorded"]
kept.guess("maps").revise("name").reveal()

# %% [markdown]
# `memlab.release(step)` frees each block after its last reader: the difference is what waiting
# costs.
#
# ## What makes it fit?

# %% tags=["pytorch-recorded"]
half = lesson.predict("12.half")


@half.then
def of_vgg():
    return views.explain(lesson.model("vgg16"), 8, "3 GB")


@half.then
def of_words_again():
    return views.explain(lesson.model("words"), 32, "8 GB")


half

# %% tags=["solution", "pytorch-recorded", "picture-half"]
half.guess("half", because="half the maps").revise("hardly").reveal()

# %% [markdown]
# In the second picture choose the change: some modules keep only what goes into them, and run
# again in backward. The line to paste does that: `torch.utils.checkpoint`. A plan that was chosen
# is recorded once more with the change in it, so its peak is no guess.
#
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
# With PyTorch (`pip install "memlab[torch]"`) this takes a small network as you would take your
# own: what is planned, also with the workspace that each kernel takes inside itself, beside what
# PyTorch's allocator gives out when it trains. This takes about half a minute.

# %% tags=["nbval-ignore-output"]
print(timing.machine())
if find_spec("torch"):
    from memlab.lesson.material.torch_models import trained

    print(trained("small", 8).text())
else:
    print("PyTorch is not installed here: this cell needs it, the lesson does not.")

# %% [markdown]
# Now yours: a function that makes the model, one that makes a mini-batch, the batch and the card.
#
# ```python
# memlab.explain(MyModel, lambda B: (inputs(B), targets(B)), batch=32, memory="12 GB")
# ```
#
# It needs no card. Three sentences say where the peak is, which batch fits, and what makes yours
# fit, with the line to paste. `memlab.fit_model(...)` chooses with workspace measured, and
# `recipe.apply(model)` changes the model. Then say: is the peak where you thought it was?
#
# ## What this lesson leaves out
#
# - Workspace of convolutions on a card: it is measured where there is one.
# - Several cards, compiled code.
# - A model that branches on its data is recorded as it ran on the data that it was given.
#
# Sources: A12, F3.

# %% [markdown]
# ## Key points
#
# - Add up what lives at **one moment**, and look for it where the widest map is<sup>A12</sup>.
# - A name in your loop holds what it names.
# - First where the peak is, then what helps: in the update, neither a smaller batch nor recompute
#   does; a leaner optimizer<sup>F3</sup> does.
#
# Next: [07 In place and sharing](07_sharing.ipynb), the techniques by themselves.
