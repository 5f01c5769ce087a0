# %% [markdown]
# # 09 Offload: what if the feature maps wait in host memory?
#
# 40 minutes. Needs: [07 In place and sharing](07_sharing.ipynb),
# [08 Recompute](08_recompute.ipynb).

# %% tags=["planned-seconds"]
import memlab
from memlab import lesson, views, zoo

views.idle("vgg16", 256, asked=True, only=("batch",), examples=False)

# %% [markdown]
# Each green bar is a feature map of VGG-16<sup>C9</sup> in one training step on a Titan X
# (Maxwell). Feature maps are one of four kinds of memory<sup>C1</sup>. Move **Batch**, and point at
# a bar to see how long this feature map is in memory.
#
# You will be able to
#
# - say how long feature maps are idle,
# - say what offload removes from the device and adds on the host,
# - say how fast the link must be for offload to cost nothing, and choose the feature maps that
#   leave.
#
# Words: [offload](glossary.md), [prefetch](glossary.md), [link](glossary.md),
# [host memory](glossary.md), [pinned memory](glossary.md), [stall](glossary.md).

# %% tags=["planned-seconds"]
lesson.predict("09.idle")

# %% tags=["solution", "planned-seconds", "picture-idle"]
lesson.predict("09.idle").guess("half", because="both passes use it").revise("nearly").reveal()

# %%
lesson.recall("09.kinds")

# %% tags=["solution"]
lesson.recall("09.kinds").guess("weights").reveal()

# %%
lesson.recall("09.paid")

# %% tags=["solution"]
lesson.recall("09.paid").guess("third").reveal()

# %% [markdown]
# ## Where do the bytes go?
#
# **Offload** (vDNN: Rhu et al., 2016): a feature map is copied to the memory of the host, the
# computer around the GPU, while its last reader in forward runs. This memory is **pinned**: the
# operating system does not move it, so the GPU can copy without the processor. In backward the
# feature map is copied back before its reader runs. The copy back, the **prefetch**, starts one
# convolution earlier<sup>C5</sup>. Policy `conv` moves the inputs of convolutions, `all` the inputs
# of nearly all layers<sup>C6</sup>.

# %% tags=["planned-seconds"]
lesson.predict("09.host")

# %% tags=["solution", "planned-seconds", "picture-host"]
lesson.predict("09.host").guess("same").revise("more").reveal()

# %% [markdown]
# More: [other policies, and a run](appendix/policies.ipynb).
#
# ## When does a copy cost no time?
#
# The GPU computes and copies at the same time. A copy starts together with an operation, and the
# next operation starts when both have ended. If the copy takes longer than the operation, compute
# waits: a **stall**. A **link** moves a number of bytes per second: PCIe 3.0 with 16 lanes reaches
# 12 GB/s.

# %% tags=["planned-seconds"]
lesson.predict("09.link")

# %% tags=["solution", "planned-seconds", "picture-link"]
lesson.predict("09.link").guess(4).revise(13).reveal()

# %% [markdown]
# ## Exercise: which feature maps should leave?
#
# **Worked.** `conv1_1`. **Shapes:** 256·64·224·224. **Bytes:** 4 for each value. **Lifetime:** on
# the device until `conv1_2` and the copy have ended, and again from backward of `conv2_1` on.
# **Peak:** it is back then; in between, only the host holds it. Compute waits for as long as a copy
# still runs after its operation has ended:


# %% tags=["planned-seconds"]
def waits(nbytes, forward, backward, link):
    seconds = nbytes / link
    return max(0, seconds - forward) + max(0, seconds - backward)


step = memlab.training_step(zoo.vgg16(), "sgd", algorithm="implicit-gemm")
moved = memlab.in_place(memlab.offload(step, "conv"))
found = memlab.clock(moved, 256, "titan x", "12 GB/s")
hide = [found.slot(name).seconds for name in ("conv1_2", "backward of conv2_1")]
nbytes = 256 * 64 * 224 * 224 * 4
print(f"{waits(nbytes, *hide, 12e9):.3f} s of the {found.stalled():.3f} s that compute waits")
print(f"compute does not wait for conv1_1 from {nbytes / min(hide) / 1e9:.0f} GB/s on")


# %% [markdown]
# **With blanks.** Choose the feature maps by seconds: complete the last 2 lines.

# %%
exercise = lesson.exercise("09.offloaded")
exercise.show()


# %% tags=["stub"]
def offloaded(maps, forward, backward, link, room):
    from itertools import combinations

    def wait(n):  # as in waits above
        return sum(max(0, maps[n] / link - hide[n]) for hide in (forward, backward))

    places = range(len(maps))
    every = [go for count in range(len(maps) + 1) for go in combinations(places, count)]
    fit = [go for go in every if ...]  # the maps that stay fit into room
    return list(min(fit, key=lambda go: ...))  # the least wait


# %% tags=["solution"]
def offloaded(maps, forward, backward, link, room):
    from itertools import combinations

    def wait(n):  # as in waits above
        return sum(max(0, maps[n] / link - hide[n]) for hide in (forward, backward))

    places = range(len(maps))
    every = [go for count in range(len(maps) + 1) for go in combinations(places, count)]
    fit = [go for go in every if sum(maps) - sum(maps[n] for n in go) <= room]
    return list(min(fit, key=lambda go: sum(wait(n) for n in go)))


# %%
exercise.check(offloaded)

# %% [markdown]
# ## What this lesson leaves out
#
# - The text on vDNN reports 18 % less speed, with its dynamic policy.<sup>C4</sup> For policy
#   `conv` at 12.8 GB/s our plan says 6 %, and 20 % if the GPU computes twice as fast. At the
#   12 GB/s above it is 7 %.
# - The plan uses 12·10⁹ B, of which 687,036 B stay free. A Titan X has 12 GiB, or 12.88 GB.
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
# - The large, early feature maps wait the longest: 88 % of the bytes times seconds of VGG-16's
#   feature maps are idle<sup>C10</sup>.
# - Offload moves bytes. It does not remove them.
# - A copy costs nothing as long as bytes / link is at most the seconds of its operation.
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
    "12.8 GB": "memlab.hardware.link(__import__('memlab.claims.offload_values', fromlist=['x'])"
    ".LINK).speed",
    "6 %": "100 * claims.less_speed('vgg16', 'conv', 256)",
    "7 %": "100 - 100 * memlab.clock(memlab.in_place(memlab.training_step(zoo.vgg16(), 'sgd',"
    "algorithm='implicit-gemm')), 256, 'titan x').seconds / __import__('memlab.lesson.content."
    "lesson_09', fromlist=['x']).timed('vgg16', 'conv', 256, 'titan x', 12).seconds",
    "20 %": "100 * claims.less_speed('vgg16', 'conv', 256, times=2)",
}
