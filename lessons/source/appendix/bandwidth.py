# %% [markdown]
# # Appendix: what does a wider vector buy?
#
# Belongs to: [05 Mini-batch and vectors](../05_vectors.ipynb).
#
# A **vector** is a row of values that one instruction computes together, and each value has its own
# **lane**. The processor keeps a vector in a **register**. A vector in code may be wider than a
# register. How wide are the registers of your machine?
#
# The loops below multiply and add in registers, with 1 lane, 2 lanes, 4 lanes and so on. This takes
# some seconds:

# %% tags=["nbval-ignore-output", "recorded-lanes"]
from memlab import formats, views

views.vector_lanes(progress=False)

# %% [markdown]
# Up to the ring, twice as many lanes compute twice as many operations per second. Beyond it, a
# vector in code becomes several vectors of the processor, one after the other, and nothing is
# gained. So the lanes of a machine are the bits of a register divided by the bits of a value:

# %%
for bits in (128, 256, 512, 1024):
    held = (f"{name} {formats.find(name).lanes(bits)}" for name in ("fp64", "fp32", "fp16", "int8"))
    print(f"{bits} bits:", ", ".join(held))

# %% [markdown]
# Most processors of laptops and servers have 128, 256 or 512 bits: CPUs have such vectors too, as
# the text of lesson 05 says. A GPU is called 1024 bits wide if the 32 threads of a warp, which run
# together, are counted with 32 bits each. So this count contains the 32 from the start.
#
# Try another format: `views.vector_lanes("fp64", progress=False)`. The ring is at half as many
# lanes. On a processor of Intel or AMD, an older target, `target="sse2"`, moves it to 128 bits,
# because the code is then made for an older processor.
#
# ## Values from memory
#
# The loops above read nothing from memory. Most operations of a network do, and for them the number
# of bytes matters. How many values of each format are read per second?

# %% tags=["nbval-ignore-output", "recorded-memory"]
views.memory_rate(progress=False)

# %% [markdown]
# So fewer bits help in two ways: a vector has more lanes, and the same bytes hold more values. The
# second way does not depend on the number of samples.

# %% tags=["numbers"]
{
    "128": "formats.find('fp32').bits * 4",
    "256": "formats.find('fp32').bits * 8",
    "512": "formats.find('fp32').bits * 16",
    "1024": "formats.find('fp32').bits * 32",
}
