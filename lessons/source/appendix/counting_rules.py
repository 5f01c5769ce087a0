# %% [markdown]
# # Appendix: which counting rule, and which unit?
#
# Belongs to: [02 A whole network](../02_network.ipynb).
#
# A counting rule changes no byte of a plan: it says which values a text adds up. What it counts may
# be freed before the peak, and what it leaves out may be alive there.
#
# ## What do the rules count?
#
# The same ResNet-50, v1 as in the texts below, under every rule that memlab has, per image:

# %%
import memlab
from memlab import counting, units, zoo

net = zoo.resnet50(variant="v1")
for rule in counting.CONVENTIONS.values():
    values = rule.values(net)
    print(f"{rule.name:14} {values:>11,} values  {units.short(4 * values):>7}  {rule.title}")

# %% [markdown]
# None of these is wrong. But a total without its rule cannot be checked. In the memory view, open
# **More** and choose a rule: an outline shows what it counts.
#
# ## What does a famous text count?
#
# A post of the maker of a chip (Graphcore, 2017) says that ResNet-50 has about 26M weights and 16M
# activations, together 168 MB. On his own site J. Hanlon cuts off where the post rounds: 25M. A
# Chinese post that tells the first again adds 99 MB and 64 MB. memlab keeps a list of published
# figures, each computed again:<sup>A4</sup>

# %%
for row in memlab.claims.find("A4"):
    print(row)

# %% [markdown]
# The parts are right, by a rule: outputs of convolutions and of sums. The 99 is MiB, beside a 64
# that is MB. And 168 MB is the sum of rounded counts; that of the exact ones comes below it.
#
# The parameters are there once for a mini-batch, the activations for each of its images: 168 MB is
# batch 1, and neither gradients nor momentum are in it.
#
# ## Which unit?
#
# S. Albanie's table convnet-burden has columns that say MB:<sup>B6</sup>

# %%
for row in memlab.claims.find("B6"):
    print(row)

# %% [markdown]
# They are MiB. And the parameters of ResNet-50 hold the running statistics of batch norm too.
#
# ## Does the memory double with the batch?
#
# "Double the batch and the memory doubles",<sup>A12</sup> in a blogger's notes, is a claim about
# the mountain. The floor keeps the factor below 2:

# %%
plan = memlab.plan(memlab.training_step(net))
for b in (1, 2, 16, 32, 64):
    print(f"batch {b:2} to {2 * b:3}: the peak grows {plan.peak(2 * b) / plan.peak(b):.3f} times")

# %% [markdown]
# Sources: A4, A12, B6.

# %% tags=["numbers"]
{
    "26M": "zoo.resnet50().parameters / 1e6",
    "16M": "counting.find('conv-sums').values(zoo.resnet50(variant='v1')) / 1e6",
    "25M": "zoo.resnet50().parameters // 10**6",
}
