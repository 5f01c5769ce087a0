# %% [markdown]
# # Appendix: which pair of techniques is the cheapest?
#
# Belongs to: [11 Fit the budget](../11_budget.ipynb).
#
# Every technique is planned together with every other one, and alone. memlab applies them in the
# order that it needs, and refuses what does not go together:

# %% tags=["planned-seconds"]
import memlab
from memlab import zoo

step = memlab.training_step(zoo.build("gpt_small"), "momentum")
techniques = {
    "16 bits": lambda step: memlab.precision(step, "mixed fp16"),
    "stages again": lambda step: memlab.recompute(step, "every", k=1),
    "cheap again": lambda step: memlab.recompute(step, "cheap"),
    "offload": lambda step: memlab.offload(step, "all"),
    "in place": memlab.in_place,
}


def planned(*names):
    both = step
    for name in names:
        both = techniques[name](both)
    seconds = memlab.clock(both, 32, "rtx 4070").seconds
    return f"{memlab.plan(both).peak(32) / 1e6:5.0f} MB {1000 * seconds:4.0f} ms"


# %% tags=["planned-seconds"]
from itertools import combinations_with_replacement

for one, other in combinations_with_replacement(techniques, 2):
    names = [one] if one == other else [one, other]
    try:
        print(f"{' + '.join(names):26}", planned(*names))
    except memlab.InputError as refused:
        print(f"{' + '.join(names):26}", str(refused).partition(";")[0])

# %% [markdown]
# Compare a pair with its two techniques alone. Which pair saves less than one of its techniques
# does alone?
#
# ## Exercise: find the pair
#
# **Shapes** and **bytes** of the step are planned for you, and so is the **lifetime** of every
# tensor. What is left is the **peak** of each pair, and its time:

# %%
from memlab import lesson

exercise = lesson.exercise("11.cheapest_pair")
exercise.show()


# %% tags=["stub"]
def cheapest_pair(peak, time, budget):
    return None  # replace None


# %% tags=["solution"]
def cheapest_pair(peak, time, budget):
    n = len(peak)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if peak[i][j] is not None]
    fit = [(i, j) for i, j in pairs if peak[i][j] <= budget]
    return list(min(fit, key=lambda pair: time[pair[0]][pair[1]]))


# %%
exercise.check(cheapest_pair)
