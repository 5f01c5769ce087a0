# %% [markdown]
# # Appendix: why has VGG-16 at batch 128 three totals?
#
# Belongs to: [02 A whole network](../02_network.ipynb).
#
# The vDNN paper (Rhu et al., 2016) and an article about it say that VGG-16 at batch 128 needs about
# 14 GB, more than a card of 12 GB has.<sup>C2</sup> They count weights and their gradients, feature
# maps, gradient maps and workspace.
#
# ## Which of the totals is right?

# %%
import memlab
from memlab import counting, units, views, zoo

views.totals("vgg16", batch=128, said="14 GB")

# %% [markdown]
# Each total answers its own question. The counting: how much does a program need that holds all
# feature maps and the largest gradient maps at the same time? The plan: how much is alive, if each
# map is freed after its last reader? The rest of the 14 GB may be workspace, which NVIDIA's library
# cuDNN chooses; nobody has confirmed this.
#
# So does VGG-16 fit?

# %%
vgg = zoo.vgg16()
ledger = memlab.plan(memlab.training_step(vgg))
print("largest batch in 12 GB:", ledger.fit("12 GB").batch)

# %% [markdown]
# By the plan it fits at batch 128. The same two texts also give totals for AlexNet, and for VGG-16
# at batch 256. The article says that AlexNet has 2 linear layers, and that VGG-16 has 16
# convolutions:

# %%
rule = counting.find("vdnn")
for name, batch, said in (("alexnet", 128, "1.1 GB"), ("vgg16", 256, "28 GB")):
    net = zoo.build(name)
    total = sum(rule.total_bytes(net, batch).values())
    planned = memlab.plan(memlab.training_step(net)).peak(batch)
    kinds = [node.kind for node in net.nodes]
    print(f"{name:8} {batch}: said {said}, counted {units.short(total)}, planned", end=" ")
    print(f"{units.short(planned)}; {kinds.count('conv2d')} conv, {kinds.count('linear')} linear")

# %% [markdown]
# ## Do feature maps have a larger share in a deeper network?
#
# The two texts say so, and that the share is over half for VGG-16.<sup>C9</sup> These are the
# shares by the same counting:

# %%
names = ["alexnet", "overfeat", "vgg16", "vgg19", "resnet18", "resnet34", "resnet50-v1"]
batches = (1, 8, 128)
print("layers with weights, share of maps at batch", *batches)
for name in [*names, "googlenet", "resnet152-v1"]:
    net = zoo.build(name)
    layers = sum(node.kind in ("conv2d", "linear") for node in net.nodes)
    parts = [rule.total_bytes(net, batch) for batch in batches]
    shares = [f"{each['feature maps'] / sum(each.values()):.2f}" for each in parts]
    print(f"{name:12} {layers:4}  ", *shares)

# %% [markdown]
# This is often so, but depth is not the cause. OverFeat has as many layers as AlexNet and a smaller
# share; GoogLeNet has more layers than ResNet-50 and a smaller share. The share depends on the
# parameters, on the feature maps, and on the batch, which the texts leave out: at batch 1 the
# feature maps of VGG-16 have 5 %.
#
# ## Which layers have the most activations?
#
# The early layers, say the CS231n notes and [an
# answer](https://datascience.stackexchange.com/questions/12649) that quotes them. Which layers have
# the most parameters?<sup>A15</sup> VGG-16, by stage:

# %%
from math import prod

listed = counting.find("cs231n")
for stage in dict.fromkeys(node.stage for node in vgg.nodes):
    nodes = [node for node in vgg.nodes if node.stage == stage]
    values = sum(prod(node.shape) for node in nodes if listed.counts(node))
    weights = sum(array.count for node in nodes for array in node.parameters)
    print(f"{stage:8} {values:>10,} activations {weights:>12,} parameters")

# %% [markdown]
# The notes are right. And a Chinese post is right that the number of activations does not depend on
# the number of parameters: a pooling or a ReLU has outputs, but no parameters.
#
# Sources: A15, C2, C9.

# %% tags=["numbers"]
{
    "5 %": "100 * counting.find('vdnn').total_bytes(zoo.vgg16(), 1)['feature maps'] / "
    "sum(counting.find('vdnn').total_bytes(zoo.vgg16(), 1).values())",
}
