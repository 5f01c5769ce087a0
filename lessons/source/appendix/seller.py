# %% [markdown]
# # Appendix: does it matter what a text sells?
#
# Belongs to: [05 Mini-batch and vectors](../05_vectors.ipynb).
#
# The first text of lesson 05 is by Graphcore, a maker of processors (Graphcore, 2017). It argues:
#
# 1. GPUs compute with wide vectors, typically of 1024 bits.
# 2. So they typically take 32 samples at a time, to fill them with values of 32 bits.
# 3. So ResNet-50 needs over 2 GB for its activations.
#
# A processor without such vectors would not need them, and this is what the maker sells. So no
# sentence of the text is wrong. But it shows where to look first: at the sentence that the offer
# depends on. Anybody can compute the others.
#
# ## Which figures come out?

# %%
from math import prod

import memlab
from memlab import counting, formats, units, zoo
from memlab.lesson import digits

net = zoo.resnet50(variant="v1")
values = counting.find("conv-sums").values(net)
print(f"26M parameters?   {net.parameters:,}")
print(f"16M activations?  {values:,}")
print(f"168 MB together?  {units.both(4 * (net.parameters + values))}")
print(f"32 lanes?         {formats.find('fp32').lanes(1024)}")
print(f"over 2 GB?        {units.both(32 * 4 * values)}")

# %% [markdown]
# All of them. The 168 is a sum of counts that were rounded before. The text does not say which
# outputs it counts; we found that by trying.
#
# ## Does it exaggerate?
#
# A larger need would make the offer look better. A whole step needs:

# %%
plan = memlab.plan(memlab.training_step(net))
for batch in (1, 32):
    print(f"batch {batch:2}: {units.both(plan.peak(batch))}")

# %% [markdown]
# It does not exaggerate: the need is larger than it says.
#
# ## Is the sentence true that the offer depends on?
#
# It is the second one: 1 sample for each lane. How many columns does 1 image have in each
# convolution of ResNet-50? And does a step run with 1 sample?

# %%
columns = [prod(node.shape[1:]) for node in net.nodes if node.kind == "conv2d"]
full = sum(count >= 32 for count in columns)
print(f"{full} of {len(columns)} convolutions fill a vector of 32 lanes with 1 image")
alone = memlab.run(memlab.training_step(digits.network()), 1)
print(f"batch 1: planned {alone.planned.peak(1):,} B, measured {alone.peak:,} B")

# %% [markdown]
# So the sentence is false for convolutions. It is true for a linear layer, where a sample is a
# column. And a fair reader adds 3 things:
#
# - The text says **typically**. It tells what people did, and not that they had to.
# - There is a better reason for a large batch, which lesson 05 measures: a batch shares weights.
# - One conclusion is right: the feature maps of 1 image take a 32nd of the bytes of 32 images. But
#   any processor can train so. This is a choice of the batch, and not of the machine.
#
# The same text says that fewer bits could halve or quarter the bytes. This helps every processor,
# and sells none.
#
# ## What to ask of the next text
#
# | ask | here |
# |---|---|
# | Who is the author, and what do they sell? | A maker of processors; a processor. |
# | Which figures can I compute? | All 5, but the text does not say what it counts. |
# | Which sentence does the offer depend on? | 1 sample, 1 lane. |
# | Is it computed, measured, or only stated? | Stated. |
# | What speaks against it, and does the text mention it? | Batch 1 runs. It does not. |
# | Who else found the same? | The figures: this page. The sentence: nobody here. |
#
# A text that sells nothing can be wrong as well: the second text of lesson 05 used the same
# sentence and made a law of it. Ask the same about memlab. It wants you to believe its plans, so it
# runs them and measures.
