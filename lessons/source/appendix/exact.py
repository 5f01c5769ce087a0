# %% [markdown]
# # Appendix: is a chain of stages the best that is possible?
#
# Belongs to: [08 Recompute](../08_recompute.ipynb).
#
# memlab cuts a network wherever a single feature map connects two parts. A schedule of the chain
# runs whole stages, and the input of a stage is counted until the stage ends. Among all these
# schedules, dynamic programming finds the least peak, and the least time for each budget (Beaumont
# et al., 2019)<sup>E6</sup>. A budget below the least peak is refused:

# %%
import memlab
from memlab import units, zoo
from memlab.clocks import roofline

resnet = memlab.training_step(zoo.resnet50())
for budget in ("2 GB", "1.5 GB", "1 GB"):
    try:
        each = memlab.recompute(resnet, "chain", batch=32, budget=budget)
        more = roofline.total(each, 32) / roofline.total(resnet, 32) - 1
        print(f"{budget}: {units.short(memlab.plan(each).peak(32))}, {more:.1%} more time, planned")
    except memlab.InputError as refused:
        print(f"{budget}: {refused}")

# %% [markdown]
# ## What does a schedule of whole stages miss?
#
# Here are 3 convolutions, and a concat that reads all their outputs. The last 2 convolutions and
# the concat are 1 stage, because no single feature map connects them. `exact` looks inside the
# stage: it decides for each operation when it runs again, as an integer program (Jain et al.,
# 2020)<sup>E6</sup>:

# %%
first = memlab.network("skips", image=(8, 16, 16)).conv(8, 3, pad=1)
second = first.conv(8, 3, pad=1)
joined = first.concat(second, second.conv(8, 3, pad=1))
step = memlab.training_step(joined.conv(4, 1).squared_error(), "sgd")
for how in ("chain", "exact"):
    each = memlab.recompute(step, how, batch=8)
    repeats = [op.name for op in each.ops if " again" in op.name]
    print(f"{how}: {memlab.plan(each).peak(8):,} B, {', '.join(repeats)}")

# %% [markdown]
# `chain` runs a stage again once, except for outputs that no operation reads. `exact` frees `conv1`
# in between and computes it a third time, so it needs fewer bytes. It proves that no order needs
# fewer; it works for at most 24 operations.
#
# ## What can be dropped inside a stage of a large network?
#
# `cheap` needs no search. It drops the outputs of layers that do little work for each byte that
# they write, such as batch norm, ReLU and GELU, anywhere in the network. So it is below the line of
# whole stages in the picture of lesson 08. In a transformer, `drop` with the matrices of attention
# is what the literature calls selective recompute. In 16 bits a layer keeps `34·s·h` bytes for each
# text, and its attention `5·a·s²` bytes more, for s tokens, h features and a heads: the longer the
# text, the larger the second part<sup>F4</sup>.

# %%
gpt = memlab.training_step(zoo.gpt_small())
kinds = ["attention_scores", "attention_softmax"]
ways = {
    "plain": gpt,
    "matrices of attention": memlab.recompute(gpt, "drop", layers=kinds),
    "cheap": memlab.recompute(gpt, "cheap"),
    "fused attention": memlab.training_step(zoo.gpt_small(attention="fused")),
}
for name, each in ways.items():
    print(f"{name:22} peak {units.short(memlab.plan(each).peak(32))}")

# %% [markdown]
# **Fused** attention stores no matrix at all: it works in tiles, and keeps 1 number for each
# row<sup>F5</sup>.
#
# Sources: E6, F4, F5.

# %% tags=["numbers"]
{
    "24": "__import__('memlab.techniques.recompute.exact_order', fromlist=['LARGEST']).LARGEST",
}
