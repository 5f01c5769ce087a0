# %% [markdown]
# # Appendix: does a lean network need less memory?
#
# Belongs to: [02 A whole network](../02_network.ipynb).
#
# A Chinese post (2017) says that lean networks, which have few parameters, solve hard problems too.
# A plan cannot tell how well they work, but it can tell how much memory they save. One step of SGD
# with momentum:

# %%
import memlab
from memlab import units, zoo

batches = (1, 8, 32, 128)
print("            parameters, peak at batch", *batches)
plans = {}
for name in ("vgg16", "alexnet", "resnet50", "resnet18", "googlenet"):
    net = zoo.build(name)
    plans[name] = memlab.plan(memlab.training_step(net))
    peaks = [f"{units.short(plans[name].peak(batch)):>9}" for batch in batches]
    print(f"{name:10} {net.parameters:>12,}", *peaks)

# %%
lean, large = zoo.googlenet(), zoo.alexnet()
print(f"parameters: {large.parameters / lean.parameters:.1f} times fewer")
for batch in (1, 128):
    ratio = plans["googlenet"].peak(batch) / plans["alexnet"].peak(batch)
    print(f"batch {batch:3}: GoogLeNet takes {ratio:.2f} times what AlexNet takes")

# %% [markdown]
# At batch 1 GoogLeNet saves most of the memory. At batch 128 it needs more than AlexNet.
#
# **A lean network saves** the floor (parameters, gradients and optimizer state), the file of the
# parameters, and memory in inference, where few feature maps are alive.
#
# **It does not save** the mountain. A convolution uses the same few weights at every place, so a
# network without large linear layers has many activations for each parameter. From which batch on
# does GoogLeNet need more?

# %%
first = next(b for b in range(1, 200) if plans["googlenet"].peak(b) > plans["alexnet"].peak(b))
print("GoogLeNet needs more than AlexNet from batch", first)

# %% [markdown]
# ## How much does a smaller batch save?
#
# "Make the batch smaller" is the usual first advice. How much it helps depends on the batch you
# have. By what factor does the peak shrink when the batch is halved?

# %%
plans["vgg16, adam"] = memlab.plan(memlab.training_step(zoo.vgg16(), "adam"))
halves = (8, 32, 128)
print("from batch          ", *(f"{batch:5}" for batch in halves))
for name in ("vgg16, adam", "vgg16", "alexnet", "resnet50", "googlenet"):
    falls = [plans[name].peak(batch) / plans[name].peak(batch // 2) for batch in halves]
    print(f"{name:20}", *(f"{fall:5.2f}" for fall in falls))

# %% [markdown]
# For VGG-16 with Adam the factor is 1.09 from batch 8, and 1.65 from batch 128. So a smaller batch
# helps little where the floor is large compared to the mountain **at that batch**. The factor is
# never 2.
#
# So ask the question at the batch that does not fit. If VGG-16 does not fit at 128, half the batch
# helps. If it does not fit at 8, make the floor lower: take another optimizer or a leaner network.
