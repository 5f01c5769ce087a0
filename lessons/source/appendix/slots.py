# %% [markdown]
# # Appendix: how often must a step of a long chain run again?
#
# Belongs to: [08 Recompute](../08_recompute.ipynb).
#
# A recurrent network repeats a step: here 1,000 times. Two texts (Hanlon, 2017; a Chinese post,
# 2017) say about a paper of DeepMind: 20 times less memory for 30 % more compute. A **slot** holds
# everything that backward of 1 step needs.
#
# With 1 slot, every step is computed from the first one on: for 10 steps, 10 + 9 + 8 + ... + 1 = 55
# forward runs. With more slots, a step starts from the nearest slot. When backward has passed a
# slot, the fastest schedule fills it again, so some steps run more than twice (Griewank and
# Walther, 2000; Gruslys et al., 2016)<sup>E2</sup>. It needs no search: a formula gives the number
# of runs, and the step that fills the next slot.

# %%
import memlab
from memlab import claims, zoo
from memlab.claims import revolve

for m in (1, 10, 20, 50, 100):
    forwards = revolve.internal_state(1000, m)
    more = revolve.extra_time(1000, forwards)
    print(f"{m:3} slots: {forwards / 1000:7.3f} forward runs per step, {more:8.1%} more time")

# %% [markdown]
# With 50 slots, 20 times less memory costs less than one more forward pass. The time is that of a
# network whose backward takes 2 times as long as its forward. More than 50 slots save little. The
# rule of lesson 08, to keep every k-th step, needs more slots for about the same time<sup>E1</sup>:

# %%
for n in (100, 152, 1000):
    k, maps = revolve.sqrt_slots(n)
    print(f"{n:5,} steps: {maps} slots, with k = {k}")

# %% [markdown]
# So is the claim of the texts right?

# %%
for row in claims.find("A11"):
    print(row)

# %% [markdown]
# The memory is right<sup>A11</sup>. The compute is one third more, as the paper itself says
# (Gruslys et al., 2016).
#
# Now a run. In this network, backward of a step reads 2 feature maps: its own, and the one of the
# step before. So here `k` counts stored feature maps, and each serves 2 steps:

# %%
step, batch = memlab.training_step(zoo.rnn(steps=1000, hidden=32), "sgd").keep("gradients"), 4
plain = claims.maps(step, batch)
for k in (50, 47, 10):
    each = memlab.recompute(step, "slots", k=k)
    maps, more = claims.maps(each, batch), claims.extra_work(step, each, batch)
    print(f"k = {k}: {plain / maps:5.2f} times less for maps, {more:6.1%} more work", end=", ")
    print(f"residual {memlab.run(each, batch).residual} B")

# %% [markdown]
# Beside the stored feature maps, 3 of the running step are in memory. So 47 stored feature maps,
# not 50, make it 20 times less. The arithmetic grows by more than 31.7 %: here backward does less
# than 2 times the work of forward, because no gradient of the inputs is computed. With 10 stored
# feature maps, further bytes cost much time.
#
# A text says that recompute makes the memory of ResNet-50 4 times smaller. Its source has no such
# figure: the example there is ResNet-200<sup>A10</sup>. Deep chains gain more:

# %%
for row in claims.find("A10"):
    print(row)

# %% [markdown]
# Sources: A10, A11, E1, E2.

# %% tags=["numbers"]
{
    "55": "revolve.internal_state(10, 1)",
}
