# %% [markdown]
# # Appendix: where do 192 KB, 25 MB and 99 MB come from?
#
# Belongs to: [02 A whole network](../02_network.ipynb).
#
# A Chinese post (2017) tells what networks need in round figures. Each of them is a count times the
# bytes of a value, divided by something. Which count, and divided by what? Below stands what the
# text says, and then what comes out, in both units.
#
# ## Is an image 192 KB?
#
# A picture with 3 colours and 256·256 pixels.<sup>A2</sup> It waits on disk or in RAM with 8 bits
# for each colour, and a network computes with fp32:

# %%
from math import prod

import memlab
from memlab import counting, formats, network, units, zoo

picture = prod(network("picture", image=(3, 256, 256)).flatten().shape)
for name in ("uint8", "fp32"):
    print(f"192 KB?  {name:5}  {units.both(formats.find(name).nbytes(picture))}")

# %% [markdown]
# So KB means KiB here, and the picture is not yet the input of a network: that takes 4 times as
# much.
#
# ## Which network has 6.6M parameters?
#
# The text calls it an entry-level network for MNIST, 25 MB, and does not say its
# layers.<sup>A3</sup> One that fits has two convolutions of 5·5 and a linear layer with 1,024
# outputs. That is our guess: other networks have as many.

# %%
small = zoo.mnist_cnn()
print(small.table())
print(f"25 MB?  {units.both(4 * small.parameters)}")

# %% [markdown]
# So MB means MiB here. The table answers another sentence of the text too: activations are not
# tied to parameters.<sup>A15</sup> `fc3` has nearly all parameters and 1,024 values, `conv1` hardly
# any parameters and 50,176 values. ReLU and pooling have no parameters at all.
#
# ## Are ResNet-50's parameters 99 MB?
#
# 26M parameters are 99 MB, it says, and 16M activations 64 MB.<sup>A4</sup> Exact first, then
# rounded to millions:

# %%
net = zoo.resnet50(variant="v1")
counts = {"99": net.parameters, "64": counting.find("conv-sums").values(net)}
for said, count in counts.items():
    for each in (count, round(count, -6)):
        print(f"{said} MB?  {each:>10,} values  {units.both(4 * each)}")

# %% [markdown]
# 99 is in MiB, and of the rounded count; 64 is in MB. One text, two units: 99 and 64 are 163, and
# Graphcore's text (2017), which it tells again, has 168 MB for the same two counts. Whoever adds up
# what a text says finds out.
#
# ## Is 32 times 64 MB over 2 GB?

# %%
step = memlab.training_step(net)
print(f"over 2 GB?  {units.both(32 * 4 * counts['64'])}")
for batch in (1, 32):
    peak = memlab.plan(step).peak(batch)
    print(f"batch {batch:2}, peak of a step: {units.both(peak)}")

# %% [markdown]
# It is, in GB.<sup>A5</sup> But it is no peak: what is counted are outputs of convolutions and
# sums. A step holds other maps too, and parameters, gradients and momentum. So the figure is right
# for what it counts, and too small for the question whether a training fits.
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
