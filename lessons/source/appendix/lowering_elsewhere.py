# %% [markdown]
# # Appendix: what do frameworks lower, and where do 7.5 GB come from?
#
# Belongs to: [03 Lowering](../03_lowering.ipynb).
#
# ## What do frameworks lower?
#
# Caffe lowers one image at a time.<sup>G3</sup> Libraries for GPUs make tiles inside the product.
# cuDNN, NVIDIA's library, calls this implicit GEMM: a matrix product (GEMM) whose copy is never
# written to memory as a whole.<sup>G1</sup> Or such libraries choose, for each layer, the fastest
# algorithm within a limit of workspace. `memlab.lowering(step, batch=32, limit="8 MiB")` does the
# same, once `memlab bench machine` has measured your machine.
#
# If PyTorch is installed, this shows what it takes on a processor, without and with the library
# oneDNN:

# %% tags=["nbval-ignore-output"]
from memlab.measure import torch_lowering

torch_lowering.measure()

# %% [markdown]
# memlab's offset table works for stride 1 only, where neighbours in the output read neighbours in
# the input. So the curve of a layer with stride 2, such as `conv1` of ResNet-50, has no point
# `offsets`.
#
# ## Do ResNet-50's activations take 7.5 GB with lowering?
#
# A Chinese post (2017) says so, for batch 32.<sup>A7</sup> In the post of James Hanlon (2017) this
# figure is a measurement: training took up to 7.5 GB of the 12 GB of a Titan X (Maxwell). How much
# memory does a plan give for lowering, and which formula gives 7.5 GB?

# %%
import math

import memlab
from memlab import units, zoo

resnet = zoo.resnet50(variant="v1")
layers = [node for node in resnet.nodes if node.kind == "conv2d"]
ledger = memlab.plan(memlab.inference_step(resnet, algorithm="im2col-batch"))
copies = [e.size.at(32) for e in ledger.entries if e.role == "workspace"]
shapes = [(n.input_shapes[0][0], n.layer.kernel, n.layer.kernel, *n.shape[1:]) for n in layers]
matrices = [4 * 32 * math.prod(shape) for shape in shapes]
outputs = {n.name: 4 * 32 * n.layer.kernel**2 * math.prod(n.shape) for n in layers}
most = [nbytes for name, nbytes in outputs.items() if not name.endswith("short")]

# %%
print("the largest copy:            ", units.short(max(copies)))
print("every copy, all kept:        ", units.short(sum(copies)))
print("all 53 matrices, all kept:   ", units.short(sum(matrices)))
print("k² times every output:       ", units.short(sum(outputs.values())))
print("the same without 4 shortcuts:", units.short(sum(most)))

# %% [markdown]
# The last line gives 7.5 GB, but its formula is wrong: lowering copies inputs, not outputs. The
# right formula gives 2.66 GB, and these bytes are never alive together, because each copy is freed.
# It is a coincidence that the wrong formula gives the measured figure. A measurement of all memory
# in use does not say what the bytes are for. A plan does.
#
# ## Which windows does ResNet-50 have?
#
# By window and stride, at batch 32:

# %%
kinds = sorted({(n.layer.kernel, n.layer.stride) for n in layers}, reverse=True)
made = {e.name: e.size.at(32) for e in ledger.entries if e.role == "workspace"}
for k, s in kinds:
    these = [node for node in layers if (node.layer.kernel, node.layer.stride) == (k, s)]
    read = sum(4 * 32 * math.prod(node.input_shapes[0]) for node in these)
    copied = sum(made.get(f"{node.name}.workspace", 0) for node in these)
    print(
        f"{len(these):2} of {k}x{k}, stride {s}: read {units.short(read):>7}, "
        f"copied {units.short(copied):>7}"
    )

# %% [markdown]
# Sources: A7, G1, G3.

# %% tags=["numbers"]
{
    "7.5 GB": "sum(4 * 32 * n.layer.kernel**2 * n.shape[0] * n.shape[1] * n.shape[2]"
    " for n in zoo.resnet50(variant='v1').nodes"
    " if n.kind == 'conv2d' and not n.name.endswith('short'))",
    "2.66 GB": "sum(4 * 32 * n.layer.kernel**2 * n.input_shapes[0][0] * n.shape[1] * n.shape[2]"
    " for n in zoo.resnet50(variant='v1').nodes if n.kind == 'conv2d')",
    "12 GB": "units.parse('12 GB')",
}
