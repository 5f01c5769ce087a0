# %% [markdown]
# # Appendix: what do frameworks lower, and where do 7.5 GB come from?
#
# Belongs to: [03 Lowering](../03_lowering.ipynb).
#
# ## What do frameworks lower?
#
# Caffe lowers one image at a time.<sup>G3</sup> Libraries for GPUs make tiles inside the product,
# which cuDNN calls implicit GEMM.<sup>G1</sup> Or they choose for each layer the fastest algorithm
# within a limit of workspace, as `memlab.lowering(step, batch=32, limit="8 MiB")` does.
#
# PyTorch on a processor, without and with its library oneDNN, where it is installed:

# %% tags=["nbval-ignore-output"]
from memlab.bench import torch_lowering

torch_lowering.measure()

# %% [markdown]
# An offset table is for stride 1, where neighbours in the output read neighbours in the input. So
# in the curve of a layer with stride 2, such as `conv1` of ResNet-50, this way is missing.
#
# ## Do ResNet-50's activations take 7.5 GB with lowering?
#
# A text says so, at batch 32.<sup>A7</sup> What may have been counted?

# %%
import math

import memlab
from memlab import units, zoo

resnet = zoo.resnet50()
layers = [node for node in resnet.nodes if node.kind == "conv2d"]
ledger = memlab.plan(memlab.inference_step(resnet, algorithm="im2col-batch"))
copies = [e.size.at(32) for e in ledger.entries if e.role == "workspace"]
outputs = {n.name: 4 * 32 * n.layer.kernel**2 * math.prod(n.shape) for n in layers}
most = [nbytes for name, nbytes in outputs.items() if not name.endswith("short")]

# %%
print("every copy, all kept:        ", units.short(sum(copies)))
print("the largest copy:            ", units.short(max(copies)))
print("k² times every output:       ", units.short(sum(outputs.values())))
print("the same without 4 shortcuts:", units.short(sum(most)))

# %% [markdown]
# The last line is 7.5 GB. But lowering copies inputs, not outputs, and frees each copy. The figure
# comes from elsewhere: it was measured, and is all memory in use while ResNet-50 trained on a card
# of 12 GB. Such a measurement does not say what the bytes are. A plan does.
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
# ## What does a copy add to the peak?
#
# A copy lives inside 1 operation. At batch 32, one image at a time, and the whole batch at once:

# %%
for network in (resnet, zoo.vgg16()):
    for way in ("im2col-image", "im2col-batch"):
        step = memlab.training_step(network, algorithm=way)
        print(network.title, way, units.in_unit(memlab.plan(step).peak(32), "GB"))

# %% [markdown]
# In VGG-16, `conv1_2` copies 3.70 GB, more than all else that is alive then. The largest copy of
# ResNet-50 is made in `conv1`, where few other bytes are alive.
#
# Sources: A7, G1, G3.

# %% tags=["numbers"]
{
    "7.5 GB": "sum(4 * 32 * n.layer.kernel**2 * n.shape[0] * n.shape[1] * n.shape[2]"
    " for n in zoo.resnet50().nodes if n.kind == 'conv2d' and not n.name.endswith('short'))",
    "3.70 GB": "memlab.plan(memlab.training_step(zoo.vgg16(), algorithm='im2col-batch'))"
    ".of('conv1_2.workspace', 32).nbytes",
    "12 GB": "devices.find('12 GB card').memory",
}
