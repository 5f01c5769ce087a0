# %% [markdown]
# # Appendix: which maps should go, and does it run here?
#
# Belongs to: [09 Offload](../09_offload.ipynb).
#
# The lesson plans VGG-16 with 256 images under policy `conv`, over 12 GB/s. There are others:
#
# - `none`: every map stays.
# - `all`: the inputs of all layers go, but not those of activations and of the last layer.
# - `dynamic`: the first of these that fits the card, in the order of vDNN<sup>C6</sup>.
# - `best`: the set of maps that fits the card and costs the least time, found by a search.

# %% tags=["planned-seconds"]
import tempfile

import memlab
from memlab import views
from memlab.lesson import digits

for link in ("12 GB/s", "3 GB/s"):
    for policy in ("none", "conv", "all", "dynamic", "best"):
        found = views.offload("vgg16", 256, policy, link=link).rows
        maps = sum(copy.out for copy in found.copies)
        bytes_of = (
            f"{found.peak / 1e9:6.3f} GB on the device, {found.host / 1e9:6.3f} GB on the host"
        )
        print(f"{link:7} {policy:7} {maps:2} maps: {bytes_of}, {found.longer:6.1%} longer")

# %% [markdown]
# Policy `all` moves more, takes longer, and saves no byte more than `conv`: the peak is in backward
# of `pool1`, when `conv1_1` is back. And a few maps are enough for the same peak, as `best` shows.
# Over the fast link this spares the host's memory, and hardly any time; over the slow one it spares
# time as well.
#
# Which are they over 12 GB/s?

# %% tags=["planned-seconds"]
best = views.offload("vgg16", 256, "best").rows
print(", ".join(copy.name for copy in best.copies if copy.out))

# %% [markdown]
# All this was planned. Now a run, on a network that is small enough. One block of this computer's
# memory plays the device, and another the host; a second thread copies while the first one
# computes. The host may be a folder too: then the maps wait in files.

# %%
step = memlab.training_step(digits.network(), "momentum").keep("gradients")
plain = memlab.run(step, 32)
with tempfile.TemporaryDirectory() as folder:
    for policy, host in (("conv", "ram"), ("all", "ram"), ("all", folder)):
        ran = memlab.run(memlab.offload(step, policy), 32, host=host)
        alike = all((plain.gradients[n] == ran.gradients[n]).all() for n in plain.gradients)
        where = "in memory" if host == "ram" else "in files"
        print(f"{policy:4} {where:9}: {ran.peak:,} B here, {ran.host_peak:,} B there,", end=" ")
        print(f"residual {ran.residual} B, the same gradients: {alike}")

# %% [markdown]
# Offload rounds nothing: the same gradients, bit for bit.
#
# ## What this appendix leaves out
#
# - vDNN chooses the algorithms of convolutions as well: `algorithms="p"` takes the fastest that
#   there is room for.
#
# Sources: C6.
