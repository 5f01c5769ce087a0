# %% [markdown]
# # Appendix: why do two counts of the same feature maps differ?
#
# Belongs to: [07 In place and sharing](../07_sharing.ipynb).
#
# A text says that a paper reduced memory 2 to 3 times, by working in place and by sharing (Chen,
# Xu, Zhang and Guestrin, 2016). "Sharing" means what lesson 07 calls giving back: memory that no
# operation needs any more is used again. Is that so? It depends on what is counted.
#
# The paper counts 1 tensor for each output and 1 for each gradient. Its add copies the gradient for
# both inputs, and its pooling keeps input and output. In memlab, both inputs of an add use 1
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
# Working in place alone makes them 2.2 times smaller as the paper counts, and 1.9 times as memlab
# counts. Both together make them 3.6 and 3.0 times smaller. So "2 to 3 times" lies between the
# figures of one and of both.
#
# The last 2 columns differ little in either count: giving back does nearly all of it.
#
# Why does it make them 3 times smaller, and not 2? Convolution, batch norm and ReLU make 3 feature
# maps and 3 gradient maps. Backward needs 2 of the feature maps: the inputs of the convolution and
# of batch norm. That is 6 against 2, and the gradient maps of one operation.
#
# What does giving back save in other networks? In a chain of convolutions, backward needs all
# inputs, so it saves nearly half. In ResNet-50 it saves more. Inference needs 2 feature maps:

# %%
for row in (*claims.find("D2"), *claims.find("D3")[:1]):
    print(row)

# %% [markdown]
# PyTorch also frees what no operation needs any more. ReLU is in place in both programs. PyTorch
# takes more memory inside operations, and its peak comes later, when there are more parameter
# gradients:

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
