# %% [markdown]
# # Appendix: how do the blocks of ResNet-50 share addresses?
#
# Belongs to: [07 In place and sharing](../07_sharing.ipynb).
#
# The example of lesson 07 has 6 blocks. A step of ResNet-50 has hundreds, too many to pack by hand:

# %%
from memlab import views

views.addresses("resnet50", 16, how="best", in_place=True)

# %% [markdown]
# Time goes to the right, addresses go up. Parameters and optimizer state are below 0, outside the
# arena: they were in memory before the step.
#
# - In forward, the feature maps that wait for backward pile up. Backward uses the last ones first,
#   so their bytes become free first.
# - Gradient maps, gradients of parameters and workspaces use the addresses that become free. Click
#   on one of them: which block had these addresses before?
# - The arena is a little larger than the lower bound, which is the most bytes in memory in one
#   operation. The text above the map says by how much.
#
# Set **Placing** to the order of birth: each block gets an address when it is written, without
# looking at later blocks. How many more bytes does that take?
