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
# A processor without such vectors would not need them: that is what the maker has to offer. This
# makes no sentence of it wrong. But it shows where to look first: at the sentence on which the
# offer rests. The others can be computed by anybody.
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
# All of them; the 168 is a sum of counts that were rounded before. What the text does not say is
# which outputs it counts: we found that by trying.
#
# ## Does it exaggerate?
#
# To exaggerate would pay: the larger the need, the better the offer. A whole step needs:

# %%
plan = memlab.plan(memlab.training_step(net))
for batch in (1, 32):
    print(f"batch {batch:2}: {units.both(plan.peak(batch))}")

# %% [markdown]
# It does not. The need is larger than it says.
#
# ## Does the sentence hold on which the offer rests?
#
# It is the second: 1 sample for each lane. How many columns does 1 image give to the lanes, in each
# convolution of ResNet-50? And does a step run with 1 sample?

# %%
columns = [prod(node.shape[1:]) for node in net.nodes if node.kind == "conv2d"]
full = sum(count >= 32 for count in columns)
print(f"{full} of {len(columns)} convolutions fill a vector of 32 lanes with 1 image")
alone = memlab.run(memlab.training_step(digits.network()), 1)
print(f"batch 1: planned {alone.planned.peak(1):,} B, measured {alone.peak:,} B")

# %% [markdown]
# So it does not hold for convolutions. It holds for a linear layer, where a sample is a column.
# And a fair reader adds 3 things:
#
# - The text says **typically**. It tells what people did, and not that they had to.
# - There is a better reason than lanes, which lesson 05 measures: a batch shares the weights.
# - What follows from 1 sample at a time is right: the maps of 1 image are a 32nd of those of 32.
#   But any processor can train so. It is a choice of the batch, not of the machine.
#
# That fewer bits could halve or quarter the bytes stands in the same text: it helps every
# processor, and sells none.
#
# ## What to ask of the next text
#
# | ask | here |
# |---|---|
# | Who says it, and what is sold? | A maker of processors; a processor. |
# | Which figures can I compute? | All 5; the counting is not said. |
# | Which sentence carries the offer? | 1 sample, 1 lane. |
# | Is it computed, measured, or said? | Said. |
# | What speaks against it, and is that there? | Batch 1 runs. It is not there. |
# | Who else found the same? | The figures: this page. The sentence: nobody here. |
#
# A text that sells nothing can be wrong as well: the second text of lesson 05 took the same
# sentence and made a law of it. Ask the same of memlab. It wants you to believe its plans; so it
# runs them and measures.
