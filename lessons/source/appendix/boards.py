# %% [markdown]
# # Appendix: does the same choice win for another network?
#
# Belongs to: [11 Fit the budget](../11_budget.ipynb).
#
# ## Which techniques does a language model need?
#
# A small GPT. Its blocks are alike, and it has no batch norm: so the batch may be cut into parts,
# whose gradients are added up. The optimizer's state may take 8 bits.

# %% tags=["planned-seconds"]
from memlab import views

views.budget(2)

# %% [markdown]
# ## And a network that is drawn for you?
#
# Level 3 is drawn from a seed; take any number. Here the search is cut off after some time. The
# board shows how far its best choice can be from the optimum at most. A better choice of yours
# becomes the best known one.

# %% tags=["planned-seconds"]
views.budget(3, seed=1)
