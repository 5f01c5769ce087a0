# %% [markdown]
# # 09 Offload: what if the feature maps wait in host memory?
#
# 45 minutes. Needs: [07 In place and sharing](07_sharing.ipynb),
# [08 Recompute](08_recompute.ipynb).
#
# You will be able to
#
# - say how long feature maps lie unused,
# - say what offload takes from the device and puts on the host,
# - say from which link speed on it is free, and choose which maps go.
#
# Words: [offload](glossary.md), [prefetch](glossary.md), [link](glossary.md),
# [host memory](glossary.md), [pinned memory](glossary.md), [stall](glossary.md).

# %%
import memlab
from memlab import lesson, views, zoo

lesson.recall("09.kinds")

# %% tags=["solution"]
lesson.recall("09.kinds").guess("weights").reveal()

# %%
lesson.recall("09.paid")

# %% tags=["solution"]
lesson.recall("09.paid").guess("third").reveal()

# %% tags=["planned-seconds"]
views.idle("vgg16", 256, asked=True, only=("batch",), examples=False)

# %% [markdown]
# Here is one of four kinds of memory<sup>C1</sup>: the feature maps of VGG-16<sup>C9</sup>, in a
# step on a Titan X (Maxwell). Move **Batch**: what grows?
#
# ## How long does a feature map wait?

# %% tags=["planned-seconds"]
idle = lesson.predict("09.idle")


@idle.then
def in_use_and_idle():
    return views.idle("vgg16", 256, only=("device",))


idle

# %% tags=["solution", "planned-seconds", "picture-idle"]
idle.guess("half", because="a map is used in forward and in backward").revise("nearly").reveal()

# %% [markdown]
# ## Where do the bytes go?
#
# **Offload** (vDNN: Rhu et al., 2016): while the last reader of a map in forward runs, the map goes
# to the memory of the host, the computer around the card. It is **pinned**: the system does not
# move it, so the card copies by itself. In backward the map comes back ahead of its reader: this
# **prefetch** looks as far as the next convolution that backward reaches<sup>C5</sup>. Policy
# `conv` sends the inputs of convolutions, `all` those of nearly all layers<sup>C6</sup>.

# %% tags=["planned-seconds"]
host = lesson.predict("09.host")


@host.then
def both_memories():
    return views.offload("vgg16", 256, only=("batch",))


host

# %% tags=["solution", "planned-seconds", "picture-host"]
host.guess("same").revise("more").reveal()

# %% [markdown]
# More: [other policies, and a run](appendix/policies.ipynb).
#
# ## When does a copy cost no time?
#
# The card computes and copies at once. A copy starts with an operation; the next operation waits
# until both have ended: the **stall**. A **link** moves so many bytes in a second: PCIe 3.0 with
# 16 lanes reaches 12 GB/s.

# %% tags=["planned-seconds"]
link = lesson.predict("09.link")


@link.then
def over_time():
    return views.offload("vgg16", 256, link="3 GB/s", only=("link", "device"))


link

# %% tags=["solution", "planned-seconds", "picture-link"]
link.guess(4).revise(13).reveal()

# %% [markdown]
# ## Exercise: what goes, and when?
#
# **Worked.** `conv1_1`. **Shapes:** 256·64·224·224. **Bytes:** 4 each. **Lifetime:** on the device
# until `conv1_2` and the copy have ended, and again from backward of `conv2_1` on. **Peak:**
# between these, only the host holds it. Compute waits for what sticks out:


# %% tags=["planned-seconds"]
def waits(nbytes, forward, backward, link):
    seconds = nbytes / link
    return max(0, seconds - forward) + max(0, seconds - backward)


step = memlab.training_step(zoo.vgg16(), "sgd", algorithm="implicit-gemm")
moved = memlab.in_place(memlab.offload(step, "conv"))
found = memlab.clock(moved, 256, "titan x", "12 GB/s")
beside = [found.slot(name).seconds for name in ("conv1_2", "backward of conv2_1")]
nbytes = 256 * 64 * 224 * 224 * 4
print(f"{waits(nbytes, *beside, 12e9):.3f} s of the {found.stalled():.3f} s that compute waits")
print(f"no wait for this map from {nbytes / min(beside) / 1e9:.0f} GB/s on")


# %% [markdown]
# **With blanks.** At a fork a map has several readers. Count how many are still to come.
# `leaving(sizes=[4, 2, 3], reads=[[0], [0, 1], [2]])` is `[0, 6, 3]`: map 0 leaves under
# operation 1.

# %%
exercise = lesson.exercise("09.leaving")
exercise.show()


# %% tags=["stub"]
from collections import Counter


def leaving(sizes, reads):
    count = Counter(number for each in reads for number in each)
    under = [0] * len(reads)
    for n, each in enumerate(reads):
        for number in each:
            count[number] -= ...  # one reader less is to come
            if count[number] == ...:
                under[n] += sizes[number]
    return under


# %% tags=["solution"]
from collections import Counter


def leaving(sizes, reads):
    count = Counter(number for each in reads for number in each)
    under = [0] * len(reads)
    for n, each in enumerate(reads):
        for number in each:
            count[number] -= 1
            if count[number] == 0:
                under[n] += sizes[number]
    return under


# %%
exercise.check(leaving)

# %% [markdown]
# **Alone.** Choose by seconds: complete the last 2 lines.

# %%
chosen = lesson.exercise("09.offloaded")
chosen.show()


# %% tags=["stub"]
def offloaded(maps, forward, backward, link, room):
    from itertools import combinations

    def wait(n):  # waits, once more
        return sum(max(0, maps[n] / link - beside[n]) for beside in (forward, backward))

    places = range(len(maps))
    every = [go for count in range(len(maps) + 1) for go in combinations(places, count)]
    fit = [go for go in every if ...]  # the maps that stay have room
    return list(min(fit, key=lambda go: ...))  # and those that go wait least


# %% tags=["solution"]
def offloaded(maps, forward, backward, link, room):
    from itertools import combinations

    def wait(n):  # waits, once more
        return sum(max(0, maps[n] / link - beside[n]) for beside in (forward, backward))

    places = range(len(maps))
    every = [go for count in range(len(maps) + 1) for go in combinations(places, count)]
    fit = [go for go in every if sum(maps) - sum(maps[n] for n in go) <= room]
    return list(min(fit, key=lambda go: sum(wait(n) for n in go)))


# %%
chosen.check(offloaded)

# %% [markdown]
# ## What this lesson leaves out
#
# - Shorter operations hide less: vDNN's text has 18 % less speed<sup>C4</sup>, our plan 6 %, and
#   20 % where the card computes twice as fast.
# - 12 GB are 12·10⁹ B here, and 687,036 B of them stay free. A Titan X has 12 GiB, 12.88 GB.
#
# Sources: C1, C4, C5, C6, C9, C10.

# %% [markdown]
# ## The case so far

# %% tags=["planned-seconds"]
lesson.predict("09.case")

# %% tags=["solution", "picture-case", "planned-seconds"]
lesson.predict("09.case").guess(2).revise("5.7").reveal()

# %% [markdown]
# ## Key points
#
# - Large, early maps wait longest: 88 % of VGG-16's bytes times seconds are idle<sup>C10</sup>.
# - Offload moves bytes. It does not remove them.
# - A copy is free as long as it hides: bytes / link against seconds.
#
# Next: [10 The data path](10_data_path.ipynb).

# %% tags=["numbers"]
{
    "88 %": "100 * memlab.clock(memlab.in_place(memlab.training_step(zoo.vgg16(), 'sgd',"
    "algorithm='implicit-gemm')), 256, 'titan x').idle_share()",
    "12 GB": "__import__('memlab').hardware.find('titan x').room",
    "687,036": "12 * 10**9 - claims.peak_dynamic('vgg16', 'titan x', 256)",
    "12 GiB": "__import__('memlab').hardware.find('titan x').memory.value",
    "12.88 GB": "__import__('memlab').hardware.find('titan x').memory.value",
    "18 %": "int(claims.find('C4.vgg16.loss')[0].claimed[:2])",
    "6 %": "100 * claims.less_speed('vgg16', 'conv', 256)",
    "20 %": "100 * claims.less_speed('vgg16', 'conv', 256, times=2)",
}
