# %% [markdown]
# # 09 Offload: what if the feature maps wait in host memory?
#
# 45 minutes. Needs: [07 In place and sharing](07_sharing.ipynb),
# [08 Recompute](08_recompute.ipynb).
#
# You will be able to
#
# - say how long feature maps lie unused,
# - say what offload takes from the device, and what it puts on the host,
# - say from which link speed on it is free, and choose which maps go.
#
# Words: [offload](glossary.md), [prefetch](glossary.md), [link](glossary.md),
# [host memory](glossary.md), [pinned memory](glossary.md), [stall](glossary.md).

# %%
import memlab
from memlab import lesson, views, zoo
from memlab.lesson import digits

lesson.recall("09.kinds")

# %% tags=["solution"]
lesson.recall("09.kinds").guess("maps").reveal()

# %%
lesson.recall("09.paid")

# %% tags=["solution"]
lesson.recall("09.paid").guess("operations").reveal()

# %% tags=["planned-seconds"]
views.idle("vgg16", 256, asked=True, only=("batch",), examples=False)

# %% [markdown]
# Of the four kinds of memory<sup>C1</sup>, here are the feature maps of VGG-16<sup>C9</sup>, in
# seconds, on a Titan X. Move **Batch**: what grows?
#
# ## How long does a feature map wait?

# %% tags=["planned-seconds"]
idle = lesson.predict("09.idle")


@idle.then
def in_use_and_idle():
    return views.idle("vgg16", 256, only=("network", "device"))


idle

# %% tags=["solution", "planned-seconds", "picture-idle"]
idle.guess("half", because="a map is used in forward and in backward").revise("nearly").reveal()

# %% [markdown]
# ## Where do the bytes go?
#
# **Offload**: a map goes to the memory of the host, the computer around the card, while its last
# reader in forward runs. That memory is **pinned**: the system does not move it, so the card copies
# by itself. While backward of one layer runs, the card fetches a map that backward needs soon: the
# **prefetch**. It looks as far ahead as the next convolution<sup>C5</sup>. Policy `conv` sends the
# inputs of convolutions, `all` those of pooling layers too<sup>C6</sup>.

# %%
step = memlab.training_step(zoo.vgg16(), "sgd", algorithm="implicit-gemm")
moved = memlab.in_place(memlab.offload(step, "conv"))
small = memlab.training_step(digits.network(), "momentum").keep("gradients")

# %%
host = lesson.predict("09.host")


@host.then
def on_this_machine():
    one, other = memlab.run(small, 32), memlab.run(memlab.offload(small), 32)
    same = ((one.gradients[n] == other.gradients[n]).all() for n in one.gradients)
    print("the same gradients, bit for bit:", all(same))
    print(f"host {other.host_peak:,} B measured, residual {other.residual} B")


host

# %% tags=["solution"]
host.guess("same").revise("more").reveal()

# %% [markdown]
# ## When is the way free?
#
# A copy starts together with an operation. What comes next waits until both have ended: the
# **stall**. A **link** moves so many bytes in a second: PCIe 3.0 with 16 lanes reaches 12 GB/s.

# %% tags=["planned-seconds"]
link = lesson.predict("09.link")


@link.then
def over_time():
    return views.offload("vgg16", 256, link="3 GB/s", only=("link", "device", "policy"))


link

# %% tags=["solution", "planned-seconds", "picture-link"]
link.guess(4).revise(13).reveal()

# %% tags=["planned-seconds"]
lesson.change("09.faster")

# %% tags=["solution", "planned-seconds"]
lesson.change("09.faster").guess("longer").reveal()

# %% [markdown]
# ## Exercise: what goes, and when?
#
# **Worked.** Output of `conv1_1`. **Shapes:** 256·64·224·224. **Bytes:** 4 each. **Lifetime:** on
# the device until `conv1_2` and the copy have ended, and again from the backward of `conv2_1` on.
# **Peak:** between these, only the host holds it. Compute waits for what sticks out:


# %% tags=["planned-seconds"]
def waits(nbytes, forward, backward, link):
    way = nbytes / link
    return max(0, way - forward) + max(0, way - backward)


found = memlab.clock(moved, 256, "titan x", "12 GB/s")
behind = [found.slot(name).seconds for name in ("conv1_2", "backward of conv2_1")]
nbytes = 256 * 64 * 224 * 224 * 4
print(f"{waits(nbytes, *behind, 12e9):.3f} s of the {found.stalled():.3f} s that compute waits")


# %% [markdown]
# `leaving(sizes=[4, 2, 3], reads=[[0], [0, 1], [2]])` is `[0, 6, 3]`: map 0 leaves under
# operation 1.
#
# **With blanks.** At a fork a map has several readers. A counter says how many are still to come:

# %%
exercise = lesson.exercise("09.leaving")
exercise.show()


# %% tags=["stub"]
def leaving(sizes, reads):
    count = [0] * len(sizes)
    for each in reads:
        for number in each:
            count[number] += 1
    under = [0] * len(reads)
    for n in range(len(reads)):
        for number in reads[n]:
            count[number] -= ...  # one reader less is to come
            if count[number] == ...:
                under[n] += sizes[number]
    return under


# %% tags=["solution"]
def leaving(sizes, reads):
    count = [0] * len(sizes)
    for each in reads:
        for number in each:
            count[number] += 1
    under = [0] * len(reads)
    for n in range(len(reads)):
        for number in reads[n]:
            count[number] -= 1
            if count[number] == 0:
                under[n] += sizes[number]
    return under


# %%
exercise.check(leaving)

# %% [markdown]
# **Alone.** A policy chooses by the kind of a layer. Choose by seconds, with `waits`:

# %%
chosen = lesson.exercise("09.offloaded")
chosen.show()


# %% tags=["stub"]
def offloaded(maps, forward, backward, link, room):
    return None  # replace None


# %% tags=["solution"]
def offloaded(maps, forward, backward, link, room):
    from itertools import combinations

    def wait(number):  # waits, once more
        way = maps[number] / link
        return max(0, way - forward[number]) + max(0, way - backward[number])

    def stays(chosen):
        return sum(maps) - sum(maps[number] for number in chosen)

    places = range(len(maps))
    every = [each for n in range(len(maps) + 1) for each in combinations(places, n)]
    fit = [each for each in every if stays(each) <= room]
    return list(min(fit, key=lambda each: sum(wait(number) for number in each)))


# %%
chosen.check(offloaded)

# %% [markdown]
# ## What this lesson leaves out
#
# - Seconds are planned by rates on paper. Slower kernels hide more.
# - vDNN also chooses algorithms, and tries policies in turn.
#
# Sources: C1, C5, C6, C9, C10.

# %% [markdown]
# ## The case so far
#
# ResNet-50 on a card of 12 GB, policy `all`: the time is that of a Titan X over 12 GB/s.

# %% tags=["picture-case", "planned-seconds"]
views.case("09")

# %% [markdown]
# ## Key points
#
# - Large, early maps wait longest: 88 % of VGG-16's bytes times seconds are idle<sup>C10</sup>.
# - Offload moves bytes. It does not remove them.
# - A copy is free as long as it hides: bytes / link against seconds.
# - At a fork a map leaves with its last reader.
#
# Next: 11 Fit the budget, which is not there yet. What lessons 00 to 09 teach is in
# [the glossary](glossary.md).

# %% tags=["numbers"]
{
    "88 %": "100 * memlab.clock(memlab.in_place(memlab.training_step(zoo.vgg16(), 'sgd',"
    "algorithm='implicit-gemm')), 256, 'titan x').idle_share()",
    "12 GB": "__import__('memlab').hardware.find('12 GB card').memory.value",
}
