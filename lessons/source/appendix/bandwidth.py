# %% [markdown]
# # Appendix: what does a wider vector buy?
#
# Belongs to: [05 Mini-batch and vectors](../05_vectors.ipynb).
#
# A **vector** is a row of values that one instruction computes together, and each value has its
# **lane**. A vector in code may be wider than a **register**, in which the processor keeps one. How
# wide are the registers of your machine?
#
# The loops below multiply and add in registers, with 1 lane, 2 lanes, 4 and so on. It takes some
# seconds:

# %% tags=["nbval-ignore-output", "recorded-lanes"]
from memlab import formats, views

views.vector_lanes(progress=False)

# %% [markdown]
# Up to the ring, twice the lanes bring twice the operations per second. Behind it, a vector in code
# becomes several vectors of the processor, one after the other, and nothing is gained. So the lanes
# of a machine are the bits of a register divided by the bits of a value:

# %%
for bits in (128, 256, 512, 1024):
    held = (f"{name} {formats.find(name).lanes(bits)}" for name in ("fp64", "fp32", "fp16", "int8"))
    print(f"{bits} bits:", ", ".join(held))

# %% [markdown]
# Most processors of laptops and servers have 128, 256 or 512 bits: CPUs have such vectors too, as
# the text of lesson 05 says. A GPU is called 1024 bits wide when the 32 threads of a warp, which
# run together, are counted with 32 bits each. Who counts so has put the 32 in before.
#
# Try another format: `views.vector_lanes("fp64", progress=False)`. The ring is at half as many
# lanes. On a processor of Intel or AMD an older target, `target="sse2"`, moves it to 128 bits: the
# code is for an older processor.
#
# ## Values from memory
#
# The loops above read nothing from memory. Most operations of a network do, and there the bytes
# count. How many values of each format are read per second?

# %% tags=["nbval-ignore-output", "recorded-memory"]
views.memory_rate(progress=False)

# %% [markdown]
# So fewer bits help in two ways: more lanes in a vector, and more values from the same bytes. The
# second one has nothing to do with how many samples there are.

# %% tags=["numbers"]
{
    "128": "formats.find('fp32').bits * 4",
    "256": "formats.find('fp32').bits * 8",
    "512": "formats.find('fp32').bits * 16",
    "1024": "formats.find('fp32').bits * 32",
}
