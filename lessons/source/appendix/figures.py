# %% [markdown]
# # Appendix: where do 192 KB, 25 MB and 99 MB come from?
#
# Belongs to: [02 A whole network](../02_network.ipynb).
#
# A Chinese post (2017) says in round figures how much memory networks need. Each figure is a count,
# times the bytes of a value, divided by the bytes of a unit. Which count is it, and which unit?
# Each cell below computes a figure of the text again, in both units.
#
# ## Is an image 192 KB?
#
# The picture has 3 colours and 256·256 pixels.<sup>A2</sup> On disk and in RAM each colour takes 8
# bits, and a network computes with fp32:

# %%
from math import prod

import memlab
from memlab import counting, formats, network, units, zoo

picture = prod(network("picture", image=(3, 256, 256)).flatten().shape)
for name in ("uint8", "fp32"):
    print(f"192 KB?  {name:5}  {units.both(formats.find(name).nbytes(picture))}")

# %% [markdown]
# So KB means KiB here. As the input of a network, the picture takes 4 times as much.
#
# ## Which network has 6.6M parameters?
#
# The text calls it an entry-level network for MNIST of 25 MB, and does not name its
# layers.<sup>A3</sup> A network that fits has two convolutions of 5·5 and a linear layer with 1,024
# outputs. This is our guess, since other networks have as many parameters.

# %%
small = zoo.mnist_cnn()
print(small.table())
print(f"25 MB?  {units.both(4 * small.parameters)}")

# %% [markdown]
# So MB means MiB here. The table supports another sentence of the text: the number of activations
# does not depend on the number of parameters.<sup>A15</sup> `fc3` has nearly all parameters and
# 1,024 values, `conv1` has few parameters and 50,176 values. ReLU and pooling have no parameters.
#
# ## Are ResNet-50's parameters 99 MB?
#
# The text says that 26M parameters take 99 MB, and 16M activations take 64 MB.<sup>A4</sup> First
# the exact counts, then the counts rounded to millions:

# %%
net = zoo.resnet50(variant="v1")
counts = {"99": net.parameters, "64": counting.find("conv-sums").values(net)}
for said, count in counts.items():
    for each in (count, round(count, -6)):
        print(f"{said} MB?  {each:>10,} values  {units.both(4 * each)}")

# %% [markdown]
# The 99 is the rounded count in MiB, and the 64 is in MB. So one text uses two units. Its sum is
# 163, while Graphcore's text (2017), which it retells, has 168 MB for the same two counts.
#
# ## Is 32 times 64 MB over 2 GB?

# %%
step = memlab.training_step(net)
print(f"over 2 GB?  {units.both(32 * 4 * counts['64'])}")
for batch in (1, 32):
    peak = memlab.plan(step).peak(batch)
    print(f"batch {batch:2}, peak of a step: {units.both(peak)}")

# %% [markdown]
# Yes, in GB.<sup>A5</sup> But this is not the peak, because the text counts the outputs of
# convolutions and sums only. A step also holds other feature maps, parameters, gradients and
# momentum. The figure is right for what it counts, but too small to tell whether a training fits.
#
# ## Three questions for a round figure
#
# - Which values are counted, and how many bytes has each?
# - Is it divided by powers of 10 or of 2?
# - Was it rounded before or after?
#
# Sources: A2, A3, A4, A5, A15.

# %% tags=["numbers"]
{
    "6.6M": "zoo.mnist_cnn().parameters / 1e6",
    "50,176": "64 * 28 * 28",
    "26M": "zoo.resnet50().parameters / 1e6",
    "16M": "counting.find('conv-sums').values(zoo.resnet50(variant='v1')) / 1e6",
    "163": "99 + 64",
    "168 MB": "4 * round(zoo.resnet50().parameters, -6) + 4 * round("
    "counting.find('conv-sums').values(zoo.resnet50(variant='v1')), -6)",
}
