# %% [markdown]
# # 10 The data path: disk, RAM, pinned memory, device: what waits for what?
#
# 45 minutes. Needs: [02 A whole network](02_network.ipynb).
#
# You will be able to
#
# - say what a mini-batch and an epoch move, from a disk to the device,
# - say what one more buffer buys, and when none helps,
# - choose a way out where a step does not fit.
#
# Words: [pinned memory](glossary.md), [link](glossary.md), [epoch](glossary.md),
# [loader](glossary.md), [prefetch](glossary.md), [stall](glossary.md),
# [augmentation](glossary.md), [micro-batch](glossary.md), [accumulation](glossary.md).

# %%
from tempfile import TemporaryDirectory

import numpy as np

import memlab
from memlab import lesson, units, views, zoo
from memlab.measure import timing

lesson.recall("10.share")

# %% tags=["solution"]
lesson.recall("10.share").guess("most").reveal()

# %%
lesson.recall("10.stays")

# %% tags=["solution"]
lesson.recall("10.stays").guess("parameters").reveal()

# %% tags=["planned-seconds"]
views.path("googlenet", 128, buffers=0, only=("batch",), examples=False)

# %% [markdown]
# Files hold 1 B for each value. The host makes them fp32 in **pinned memory**, which the system
# does not move: from there the **link** carries them to the device. A square is a mini-batch, its
# area its bytes. Set **Batch** to 256: which places double, and what becomes of the images/s?
#
# ## What moves in an epoch?
#
# An **epoch** uses each image once. ImageNet has 1,281,167 to train with.

# %%
epoch = lesson.predict("10.epoch")


@epoch.then
def at_each_station():
    step = memlab.training_step(zoo.googlenet(), "sgd", algorithm="implicit-gemm")
    for batch in (128, 256):
        path = memlab.data_path(step, batch, link="12 GB/s", device="titan x")
        for what, moves in (("step", path.batch_moves()), ("epoch", path.epoch_moves(1_281_167))):
            said = (f"{name} {units.short(n)}" for name, n in moves._asdict().items())
            print(f"batch {batch}, one {what}: {', '.join(said)}")


epoch

# %% tags=["solution"]
epoch.guess("twice", because="each copy is twice as large").revise("same").reveal()

# %% [markdown]
# ## What does one more buffer buy?
#
# A **buffer** is a place in pinned memory. A second thread, the **loader**, fills it ahead of time:
# a **prefetch**. The device has as many places, but no more than 2, and one of them is taken until
# its step has ended. Where compute has to wait all the same, it **stalls**.

# %% tags=["planned-seconds"]
buffers = lesson.predict("10.buffers")


@buffers.then
def move_the_buffers():
    return views.path("googlenet", 128, buffers=1, only=("buffers", "disk", "augment"))


buffers

# %% tags=["solution", "planned-seconds", "picture-buffers"]
buffers.guess("never").revise("two").reveal()

# %% tags=["planned-seconds"]
lesson.change("10.slow")

# %% tags=["solution", "planned-seconds"]
lesson.change("10.slow").guess("four").reveal()

# %% tags=["planned-seconds"]
lesson.change("10.augment")

# %% tags=["solution", "planned-seconds"]
lesson.change("10.augment").guess("quarter").reveal()

# %% [markdown]
# On your machine, with a folder of images. The disk is slowed down, to need about 0.7 of a step.
# Each line is the fastest of 3 runs: other work on the machine makes compute wait, too. What is
# planned is worked out from the times of the same run. All runs take some ten seconds.


# %%
def fastest(count, disk=None):
    runs = [memlab.feed(step, folder, 32, count, disk=disk) for _ in range(3)]
    return min(runs, key=lambda run: run.schedule.seconds)


# %% tags=["nbval-ignore-output"]
conv = memlab.network("small", image=(3, 32, 32)).conv(32, 3, pad="same")
plain, normed = (
    x.relu().max_pool(4).flatten().linear(10).cross_entropy() for x in (conv, conv.batch_norm())
)
print(timing.machine())
step = memlab.training_step(plain, "sgd")
with TemporaryDirectory() as folder:
    images = memlab.images(folder, 640)
    rate = images.nbytes / 20 / 0.7 / fastest(0).parts["compute"]
    for count in (0, 1, 2):
        fed = fastest(count, rate)
        read = f"{fed.schedule.seconds:.2f} s, read {fed.parts['read'] / fed.compute:.1f} of a step"
        waits = f"compute waits {fed.waits:.0%}, planned {fed.clocked().waits:.0%}"
        peaks = ", ".join(f"{place} {peak:,} B" for place, peak in fed.peaks.items())
        print(f"buffers {count}: {read}, {waits}; peaks: {peaks}")

# %% [markdown]
# ## Which way leads out?
#
# The images take little; the maps may not fit. Four ways make room. **Mixed precision**: maps in
# 16 bits (lesson 06). **Recompute**: some maps are dropped, and made again (lesson 08).
# **Offload**: some wait on the host (lesson 09). **Accumulation**: the mini-batch goes through the
# network in **micro-batches**, whose gradients are added up before one update.

# %% tags=["planned-seconds"]
way = lesson.predict("10.way")


@way.then
def of_vgg():
    return views.remedies("vgg16", 256, only=("link",))


@way.then
def of_resnet():
    return views.remedies("resnet50", 256, only=("link",))


way

# %% tags=["solution", "planned-seconds", "picture-ways"]
way.guess("recompute").revise("accumulation").reveal()

# %%
for name, net in (("without", plain), ("with", normed)):
    step = memlab.training_step(net, "sgd", "fp64").keep("gradients")
    one, two = memlab.run(step, 32), memlab.run(memlab.accumulate(step, parts=2), 16)
    apart = max(np.abs(one.gradients[n] - two.gradients[n]).max() for n in one.gradients)
    share = apart / max(np.abs(each).max() for each in one.gradients.values())
    print(name, f"batch norm: gradients differ by {share:.4%}, residual {two.residual} B")

# %% [markdown]
# ## Exercise: when is a step done?
#
# **Worked.** GoogLeNet, 128 images. **Shapes:** 128·3·224·224. **Bytes:** 1 each as on disk, 4 as
# fp32. **Lifetime:** a place in pinned memory is taken until the link has emptied it, one on the
# device until the step has ended. **Peak:** all places are reserved from the start.

# %%
values = 128 * 3 * 224 * 224
step = memlab.training_step(zoo.googlenet(), "sgd", algorithm="implicit-gemm")
path = memlab.data_path(step, 128, buffers=2, link="12 GB/s", device="titan x")
planned = memlab.plan(path.step)
print(f"host: by hand {values + 2 * 4 * values:,} B, planned {planned.peak(128, 'host'):,} B")
print(f"device: by hand {2 * 4 * values:,} B, planned {planned.peak(128):,} B")

# %% [markdown]
# **With blanks.** Now times, and simpler: one kind of place, taken until compute has finished; the
# link takes no time. Then try `finished([10, 10, 10, 200] * 5, [100] * 20, places)`: where times
# vary, what does a third place buy?

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
# - Nothing is decoded here. A JPEG takes less of a disk, and much more of the host.
# - A network that computes for long hides a slow disk: VGG-16, for instance.
# - In place, in every way out: a ReLU writes over what it reads (lesson 07).
# - Copies of maps<sup>C5</sup>, as in lesson 09, share the link with the images.
# - More than one device.
# - More: [who still holds a mini-batch?](appendix/leak.ipynb)
#
# Sources: A12, B7, C5, C8.

# %% [markdown]
# ## The case so far

# %% tags=["planned-seconds"]
lesson.predict("10.case")

# %% tags=["solution", "planned-seconds"]
lesson.predict("10.case").guess("same").reveal()

# %% [markdown]
# ## Key points
#
# - Every image crosses the link once in an epoch, a mini-batch at a time<sup>A12</sup>.
# - Augmented on the host, images cross as fp32; on the device, as bytes<sup>B7</sup>.
# - Buffers hide what is shorter than a step. They even out; they do not speed up.
# - Accumulation adds hardly any time; where a layer looks at the whole mini-batch, the result is
#   another one. The other ways out<sup>C8</sup> ask for time, a link, another card or result.
#
# Next: 11 Fit the budget, which is not there yet. The main road goes on with
# [07 In place and sharing](07_sharing.ipynb).
