# %% [markdown]
# # Appendix: which 8 bits for maps, and which for gradients?
#
# Belongs to: [06 Precision](../06_precision.ipynb).
#
# Two floating-point formats of 8 bits are in use. The paper that proposed both gives each a task:
# e4m3 for weights and feature maps, in forward, and e5m2 for gradients, in backward (Micikevicius
# et al., 2022). The names say the bits: e4m3 has 4 for the **exponent** and 3 for the **mantissa**.

# %%
import math
from functools import partial

import numpy as np

import memlab
from memlab import formats, rounding, units, views, zoo
from memlab.lesson import digits
from memlab.measure import timing

E4M3, E5M2 = "fp8_e4m3fn", "fp8_e5m2"
for name in (E4M3, E5M2):
    found = formats.find(name)
    powers = math.log2(found.largest / found.smallest)
    print(f"{name:10}  {2**found.mantissa} steps in each of {powers:.1f} powers of 2,", end=" ")
    print(f"from {found.smallest:.1e} to {found.largest:,.0f}")

# %% [markdown]
# One bit gives either steps or range: twice the steps, or nearly twice the powers of 2.
#
# ## What do maps need?
#
# An image of the digits has 17 greys, from 0 to 1. After a batch norm, values are around 0, most of
# them between -2 and 2. How much does rounding change them?

# %%
greys = [k / 16 for k in range(17)]
values = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
for name in (E4M3, E5M2):
    held = sum(rounding.nearest(grey, name) == grey for grey in greys)
    became = rounding.rounded(values, name)
    error, zero = np.mean(np.abs(became - values) / np.abs(values)), 100 * np.mean(became == 0)
    print(f"{name:10}  holds {held} greys, error {100 * error:.1f} %, {zero:.2f} % become 0")

# %% [markdown]
# Feature maps need steps: e5m2 has nearly twice the error. They need little range, because few of
# their values are very small or very large.
#
# ## What do gradients need?
#
# Gradients of different layers and samples differ by many powers of 2. Here are the gradients of
# the first step of the digits in the dark in lesson 06. A loss scale multiplies all of them by the
# same factor. Which scales lose none at either end?

# %%
data, network = digits.dim(), digits.dim_network()
first = memlab.run(memlab.training_step(network), 32, data.x[:32], data.y[:32], keep="gradients")
flat = np.concatenate([each.ravel() for each in first.gradients.values()])
flat = flat[flat != 0]
for name in (E4M3, E5M2):
    kept = {p: rounding.rounded(flat * np.float32(2.0**p), name) for p in range(16, 48)}
    good = [p for p, each in kept.items() if np.all(each != 0) and np.all(np.isfinite(each))]
    some = f"2^{good[0]} to 2^{good[-1]}" if good else "none"
    lost = 100 * np.mean(kept[16] == 0)
    print(f"{name:10}  scales that lose none: {some}; times 2^16, {lost:.1f} % become 0")

# %% [markdown]
# In e4m3 there is no such scale: before the last small gradients are saved, large ones become NaN.
# The picture has a scale that loses few. Hollow bars are lost:

# %%
views.gradient_histogram(first, E4M3, scale=2.0**33)

# %% [markdown]
# ## Does a training notice?
#
# The feature maps have 16 bits, and all gradients have 8. The loss scale begins at 2^16, as in
# lesson 06, and for the last training at 2^24:

# %% tags=["nbval-ignore-output", "recorded-gradients"]
ways = {
    "e5m2": (E5M2, 16),
    "e4m3": (E4M3, 16),
    "e4m3, larger scale": (E4M3, 24),
}
found = {}
for name, (small, power) in ways.items():
    way = partial(memlab.precision, mode="mixed fp16", gradient_map=small, parameter_gradient=small)
    settings = digits.DIM_SETTINGS | {"loss_scale": 2.0**power}
    found[name] = memlab.train(network, data, rewrite=way, settings=settings, epochs=6)
print(timing.machine())
views.training_curves(found)

# %% [markdown]
# At 2^16, e5m2 learns, although 20.1 % of the first gradients become 0 at that scale, and e4m3 does
# not learn. With a scale that fits, e4m3 learns too: it does not need the smallest gradients. So a
# format with much range does not need a careful choice of the scale. With less range, each tensor
# can have a scale of its own.
#
# ## How many bytes?
#
# Feature maps are in e4m3 and their gradients in e5m2, and the rest is as in mixed fp16. These are
# the peaks, planned for ResNet-50 with Adam and 32 images, then planned and measured for the
# digits:

# %%
by_role = {"feature_map": E4M3, "gradient_map": E5M2}
for made in (zoo.resnet50(), digits.network()):
    full = memlab.training_step(made, "adam")
    mixed = memlab.precision(full, "mixed fp16")
    fewer = memlab.precision(full, "mixed fp16", **by_role)
    for name, step in (("fp32", full), ("mixed fp16", mixed), ("8-bit maps", fewer)):
        peak, whole = memlab.plan(step).peak(32), memlab.plan(full).peak(32)
        ran = f", measured {memlab.run(step, 32).peak:,} B" if made.parameters < 10_000 else ""
        print(f"{made.name:9} {name:10} {units.short(peak):>8}, {peak / whole:.3f} of fp32{ran}")
