# %% [markdown]
# # 10 The data path: disk, RAM, pinned memory, device: what waits for what?
#
# 30 minutes. Needs: [02 A whole network](02_network.ipynb).

# %% tags=["planned-seconds", "picture-path"]
from memlab import lesson, views

views.path("resnet50", 128, disk=7, device="rtx 4090", files="jpeg", asked=True, only=("batch",))

# %% [markdown]
# Each square is a mini-batch of images, and its area is its bytes. Set **Batch** to 256: what
# changes? The questions use these JPEG files.
#
# You will be able to
#
# - find the part of the data path that limits training,
# - say when one more buffer helps.
#
# Words: [pinned memory](glossary.md), [link](glossary.md), [loader](glossary.md),
# [prefetch](glossary.md), [stall](glossary.md), [epoch](glossary.md),
# [augmentation](glossary.md).

# %%
lesson.recall("10.share")

# %% tags=["solution"]
lesson.recall("10.share").guess("most").reveal()

# %%
lesson.recall("10.stays")

# %% tags=["solution"]
lesson.recall("10.stays").guess("parameters").reveal()

# %% [markdown]
# ## What limits the training?

# %% tags=["planned-seconds"]
lesson.predict("10.slowest")

# %% tags=["solution", "planned-seconds", "picture-slowest"]
lesson.predict("10.slowest").guess("disk", because="disks are slow").revise("decode").reveal()

# %% [markdown]
# In an **epoch** every image crosses the link once<sup>A12</sup>. If the device does the
# **augmentation** (control **Augment**), the images cross with 1 B for each value, not
# 4<sup>B7</sup>.
#
# A **buffer** is a place for one mini-batch in pinned memory. The **loader** fills it ahead of
# time: a **prefetch**. With 1 buffer the device has 1 place, with 2 or more it has 2. Without
# images, compute **stalls**. PyTorch:
# `DataLoader(num_workers=4, pin_memory=True, prefetch_factor=2)` and `x.to("cuda",
# non_blocking=True)`. On one stream this copy still waits for the step, as with 1 buffer. To use
# the second place, copy on a separate stream (`torch.cuda.Stream`).

# %% tags=["planned-seconds"]
lesson.change("10.buffers")

# %% tags=["solution", "planned-seconds"]
lesson.change("10.buffers").guess("two").reveal()

# %% [markdown]
# How fast does your computer decode a photo with Pillow?

# %% tags=["nbval-ignore-output"]
from memlab.measure import jpeg, timing

print(timing.machine())
print(jpeg.decoding())

# %% [markdown]
# ## Exercise: when is a step done?
#
# **Worked.** Loading a mini-batch takes 3, computing 5. There are 2 places. **Shapes**
# and **bytes:** a place holds 128·3·224·224 values of 4 B, or 77.1 MB. **Lifetime:** a place is in
# use from loading to the end of compute. **Peak:** both places are always reserved. Mini-batch 2
# needs the place of 0: its loading begins at 3 + 5 = 8. The steps end at 8, 13
# and 18.

# %% tags=["numbers"]
{
    "77.1 MB": "128 * 3 * 224 * 224 * 4",
    "13": "__import__('memlab.lesson.content.lesson_10', fromlist=['x'])"
    ".finished([3] * 3, [5] * 3, 2)[1]",
    "18": "__import__('memlab.lesson.content.lesson_10', fromlist=['x'])"
    ".finished([3] * 3, [5] * 3, 2)[2]",
}

# %% [markdown]
# **With blanks.** For any times and any number of places.

# %%
exercise = lesson.exercise("10.finished")
exercise.show()


# %% tags=["stub"]
def finished(load, compute, places):
    loaded, done = 0, []
    for n in range(len(load)):
        free = ...  # when the place of mini-batch n is empty
        loaded = max(loaded, free) + load[n]
        done.append(...)  # when compute has finished with it
    return done


# %% tags=["solution"]
def finished(load, compute, places):
    loaded, done = 0, []
    for n in range(len(load)):
        free = done[n - places] if n >= places else 0
        loaded = max(loaded, free) + load[n]
        done.append(max(loaded, done[-1] if done else 0) + compute[n])
    return done


# %%
exercise.check(finished)

# %% [markdown]
# ## What this lesson leaves out
#
# - A mini-batch that does not fit can be [computed in parts](02_network.ipynb), as in the case.
# - PyTorch keeps `num_workers` x `prefetch_factor` mini-batches on the host, and each worker
#   decodes a whole one.
# - More: [which variables hold a mini-batch?](appendix/leak.ipynb)
#
# Sources: A12, B7.

# %% [markdown]
# ## The case so far

# %% tags=["planned-seconds"]
lesson.predict("10.case")

# %% tags=["solution", "planned-seconds"]
lesson.predict("10.case").guess("same").reveal()

# %% [markdown]
# ## Key points
#
# - The slowest part sets the pace. With photos it is often decoding, not the disk.
# - Buffers hide what is shorter than a step, and make no single part faster.
#
# Next: [07 In place and sharing](07_sharing.ipynb), or
# [11 Fit the budget](11_budget.ipynb) if you come from lesson 09.
