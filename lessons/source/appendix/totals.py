# %% [markdown]
# # Appendix: why has VGG-16 at batch 128 three totals?
#
# Belongs to: [02 A whole network](../02_network.ipynb).
#
# The vDNN paper (Rhu et al., 2016) and an article that tells it say that VGG-16 at batch 128 needs
# about 14 GB: more than a card of 12 GB has.<sup>C2</sup> They count weights and their gradients,
# feature maps, gradient maps and workspace.
#
# ## Which of the totals is right?

# %%
import memlab
from memlab import counting, units, views, zoo

views.totals("vgg16", batch=128, said="14 GB")

# %% [markdown]
# Each answers a question of its own. The counting: how much does a program take that has all maps
# and the largest gradient maps side by side? The plan: how much is alive, if each map is freed
# after its last reader? The rest of the 14 GB may be workspace, which cuDNN, NVIDIA's library,
# chooses; nobody has confirmed it.
#
# So does VGG-16 fit?

# %%
vgg = zoo.vgg16()
ledger = memlab.plan(memlab.training_step(vgg))
print("largest batch in 12 GB:", ledger.fit("12 GB").batch)

# %% [markdown]
# By the plan it does, at batch 128. The same two texts name AlexNet, and VGG-16 at batch 256. The
# article also says that AlexNet has 2 linear layers, and VGG-16 16 convolutions:

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
# ## Do maps have a larger share in a deeper network?
#
# So say the two texts, and for VGG-16 over half.<sup>C9</sup> The shares, by the same counting:

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
# Often, but depth is not the cause. OverFeat has as many layers as AlexNet and a smaller share;
# GoogLeNet has more layers than ResNet-50 and a smaller share. What counts is parameters against
# maps, and the batch, which the texts leave out: at batch 1 the maps of VGG-16 have 5 %.
#
# ## Where do the activations lie?
#
# Most of them in the early layers, say the CS231n notes and [an
# answer](https://datascience.stackexchange.com/questions/12649) that quotes them. And the
# parameters?<sup>A15</sup> VGG-16, by stage:

# %%
from math import prod

listed = counting.find("cs231n")
for stage in dict.fromkeys(node.stage for node in vgg.nodes):
    nodes = [node for node in vgg.nodes if node.stage == stage]
    values = sum(prod(node.shape) for node in nodes if listed.counts(node))
    weights = sum(array.count for node in nodes for array in node.parameters)
    print(f"{stage:8} {values:>10,} activations {weights:>12,} parameters")

# %% [markdown]
# It is so. And the number of activations does not follow that of the parameters, as a Chinese post
# says: a pooling or a ReLU has outputs, and no parameter at all.
#
# Sources: A15, C2, C9.

# %% tags=["numbers"]
{
    "5 %": "100 * counting.find('vdnn').total_bytes(zoo.vgg16(), 1)['feature maps'] / "
    "sum(counting.find('vdnn').total_bytes(zoo.vgg16(), 1).values())",
}
