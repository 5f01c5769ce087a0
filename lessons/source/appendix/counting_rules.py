# %% [markdown]
# # Appendix: which counting rule, and which unit?
#
# Belongs to: [02 A whole network](../02_network.ipynb).
#
# A counting rule says which values a text adds up. It does not change a plan. A value that the rule
# counts may be freed before the peak, and a value that it leaves out may be in memory at the peak.
#
# ## What do the rules count?
#
# Every rule that memlab has, for one image of ResNet-50. The texts below use v1:

# %%
import memlab
from memlab import counting, units, views, zoo

net = zoo.resnet50(variant="v1")
for rule in counting.CONVENTIONS.values():
    values = rule.values(net)
    print(f"{rule.name:14} {values:>11,} values  {units.short(4 * values):>7}  {rule.title}")

# %% [markdown]
# None of these rules is wrong. But a total without its rule cannot be checked.
#
# ## What does a famous text count?
#
# A post of a chip maker (Graphcore, 2017) says that ResNet-50 has about 26M weights and 16M
# activations, together 168 MB. J. Hanlon, on his own site, says 25M: he does not round up. A
# Chinese post that retells the first one adds 99 MB and 64 MB. memlab keeps a list of published
# figures and computes each again:<sup>A4</sup>

# %%
for row in memlab.claims.find("A4"):
    print(row)

# %% [markdown]
# The counts are right for one rule: it counts the outputs of convolutions and of sums. The 99 is in
# MiB, and the 64 is in MB. The 168 MB is the sum of the rounded counts; the sum of the exact counts
# is smaller.
#
# The parameters are stored once for a mini-batch, the activations once for each image. So 168 MB is
# the total of batch 1, without gradients and momentum.
#
# ## Is a counted value in memory at the peak?
#
# At batch 32 the same rule gives over 2 GB.<sup>A5</sup> It adds up the outputs of all convolutions
# and all sums. How many of these bytes are in memory at the peak of a step?

# %%
ledger = memlab.plan(memlab.training_step(net))
kinds = {node.name: node.kind for node in net.nodes}
peak = ledger.peak_at(32)
alive = [entry for entry in ledger.alive(peak.index) if entry.role == "feature_map"]
for kind in ("conv2d", "add"):
    found = [entry.size.at(32) for entry in alive if kinds.get(entry.name) == kind]
    print(f"outputs of {kind:6} alive: {units.short(sum(found)):>7}")
counted = 32 * 4 * counting.find("conv-sums").values(net)
print(f"counted: {units.short(counted)}, peak: {units.short(peak.nbytes)}")

# %% [markdown]
# Batch norm reads its input again in backward, so the outputs of the convolutions wait. A ReLU
# reads its own output again, so the sum that goes into it is freed. At the peak there are also
# outputs of ReLUs, gradients and parameters, which the rule does not count. The total is not wrong.
# It answers another question than "does it fit?". The dashed outline is what the rule counts:

# %%
views.memory("resnet50-v1", batch=32, rule="conv-sums", only=("batch", "rule"))

# %% [markdown]
# ## Which unit?
#
# The columns of S. Albanie's table convnet-burden are labelled MB:<sup>B6</sup>

# %%
for row in memlab.claims.find("B6"):
    print(row)

# %% [markdown]
# They are in MiB. And the parameters of ResNet-50 include the running statistics of batch norm.
#
# ## Does the memory double with the batch?
#
# A blogger's notes say: "Double the batch and the memory doubles".<sup>A12</sup> This is true of
# the mountain. The floor keeps the factor below 2:

# %%
for b in (1, 2, 16, 32, 64):
    ratio = ledger.peak(2 * b) / ledger.peak(b)
    print(f"batch {b:2} to {2 * b:3}: the peak grows {ratio:.3f} times")

# %% [markdown]
# Sources: A4, A5, A12, B6.

# %% tags=["numbers"]
{
    "26M": "zoo.resnet50().parameters / 1e6",
    "16M": "counting.find('conv-sums').values(zoo.resnet50(variant='v1')) / 1e6",
    "25M": "zoo.resnet50().parameters // 10**6",
    "2 GB": "32 * 4 * counting.find('conv-sums').values(zoo.resnet50(variant='v1'))",
}
