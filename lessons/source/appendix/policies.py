# %% [markdown]
# # Appendix: which maps should go, and does it run here?
#
# Belongs to: [09 Offload](../09_offload.ipynb).
#
# The lesson plans VGG-16 with 256 images, policy `conv` and a link of 12 GB/s. There are other
# policies:
#
# - `none`: every feature map stays on the device.
# - `all`: the inputs of all layers are moved, except those of activations and of the last layer.
# - `dynamic`: the first of these policies that fits the card, in the order of vDNN<sup>C6</sup>.
# - `best`: the set of feature maps that fits the card and costs the least time, found by a search.

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
# Policy `all` moves more and takes longer than `conv`, but saves no more: the peak is in backward
# of `pool1`, when `conv1_1` is already back. `best` shows that a few feature maps are enough for
# the same peak. With the fast link this saves memory of the host and hardly any time; with the slow
# link it saves time as well.
#
# Which feature maps does `best` move over 12 GB/s?

# %% tags=["planned-seconds"]
best = views.offload("vgg16", 256, "best").rows
print(", ".join(copy.name for copy in best.copies if copy.out))

# %% [markdown]
# All this was planned. Here is a run of a small network. One part of this computer's memory stands
# for the device and another part for the host. A second thread copies while the first one computes.
# The host can also be a folder: then the feature maps wait in files.

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
# Offload does not round: the gradients are the same, bit for bit.
#
# ## What this appendix leaves out
#
# - vDNN also chooses the algorithms of convolutions: `algorithms="p"` takes the fastest ones that
#   fit.
#
# Sources: C6.
