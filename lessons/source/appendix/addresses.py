# %% [markdown]
# # Appendix: how do the blocks of ResNet-50 share addresses?
#
# Belongs to: [07 In place and sharing](../07_sharing.ipynb).
#
# The toy of lesson 07 has 6 blocks. A step of ResNet-50 has hundreds, and no hand packs them:

# %%
from memlab import views

views.addresses("resnet50", 16, how="best", in_place=True)

# %% [markdown]
# Left to right is time, bottom to top are addresses. Parameters and optimizer state lie below 0,
# outside the arena: they were there before the step.
#
# - In forward, maps that wait for backward pile up. Backward is done first with those made last,
#   so their bytes become free first.
# - Gradient maps, gradients of parameters and workspaces take the places that become free. Click
#   one of them: who had these addresses before?
# - The arena is a little larger than the lower bound, the most that is alive in one operation, as
#   the text above the map says.
#
# Set **Placing** to the order of birth: each block gets an address when it is born, and knows
# nothing of later ones. How many bytes more does that take?
