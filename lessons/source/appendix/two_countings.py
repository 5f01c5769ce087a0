# %% [markdown]
# # Appendix: why do two counts of the same feature maps differ?
#
# Belongs to: [07 In place and sharing](../07_sharing.ipynb).
#
# A text says that a paper made memory 2 to 3 times smaller, in place and by sharing (Chen, Xu,
# Zhang and Guestrin, 2016). Its sharing is what lesson 07 calls freeing. Is the claim right? That
# depends on what is counted.
#
# The paper counts 1 tensor for each output and 1 for each gradient. Its add copies the gradient for
# both inputs, and its pooling keeps input and output. In memlab both inputs of an add use the same
# gradient, and pooling keeps indices. ResNet-50 v1.5 at batch 32, counted in both
# ways<sup>A9</sup>:

# %%
import memlab
from memlab import claims, zoo

resnet = zoo.resnet50()
ways = {"as in 2016": claims.chen2016(resnet), "memlab": memlab.training_step(resnet)}
print("feature and gradient maps, MiB\n              no reuse   in place      reuse       both")
for name, plain in ways.items():
    inside = memlab.in_place(plain)
    four = memlab.no_reuse(plain), memlab.no_reuse(inside), plain, inside
    print(f"{name:12}", *(f"{claims.maps(way, 32) / 2**20:10,.0f}" for way in four))

# %% [markdown]
# In place alone makes them 2.2 times smaller in the count of the paper, and 1.9 times in the count
# of memlab. Both together make them 3.6 and 3.0 times smaller. So "2 to 3 times" is between in
# place alone and both.
#
# Columns 3 and 4 differ little in either count: freeing does nearly all of it.
#
# Why are they 3 times smaller, and not 2? Convolution, batch norm and ReLU write 3 feature maps and
# 3 gradient maps. Backward needs 2 of the feature maps: the inputs of the convolution and of batch
# norm. So 2 of 6 wait, and the gradient maps of one operation are added.
#
# How much does freeing save in other networks? In a chain of convolutions backward needs all
# inputs, so it saves nearly half; in ResNet-50 it saves more. Inference needs 2 feature maps:

# %%
for row in (*claims.find("D2"), *claims.find("D3")[:1]):
    print(row)

# %% [markdown]
# PyTorch also frees tensors that are no longer needed. In both programs ReLU runs in place. PyTorch
# needs more memory inside operations, and its peak comes later, with more gradients of parameters:

# %%
from memlab.measure import torch_memory

print("batch", torch_memory.BATCH)
print(torch_memory.beside(memlab.in_place(ways["memlab"])))

# %% [markdown]
# Sources: A9, D2, D3.

# %% tags=["numbers"]
{
    "1.9": "(lambda s: claims.maps(memlab.no_reuse(s), 32) / claims.maps(memlab.no_reuse("
    "memlab.in_place(s)), 32))(memlab.training_step(zoo.resnet50()))",
    "2.2": "(lambda s: claims.maps(memlab.no_reuse(s), 32) / claims.maps(memlab.no_reuse("
    "memlab.in_place(s)), 32))(claims.chen2016(zoo.resnet50()))",
    "3.0": "(lambda s: claims.maps(memlab.no_reuse(s), 32) / claims.maps(memlab.in_place(s), 32))("
    "memlab.training_step(zoo.resnet50()))",
    "3.6": "(lambda s: claims.maps(memlab.no_reuse(s), 32) / claims.maps(memlab.in_place(s), 32))("
    "claims.chen2016(zoo.resnet50()))",
}
