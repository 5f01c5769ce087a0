# %% [markdown]
# # 00 Start: is my set-up right, and what is where?
#
# 10 minutes. Needs: nothing before it.
#
# You will be able to
#
# - check your set-up, and mend it,
# - plan a training step and read its bytes, in MB and in MiB,
# - move a live view with the mouse or with keys, and read it as text,
# - find your own copies, the solutions and the words.
#
# To run a cell, click it and press Shift+Enter.

# %% [markdown]
# ## The set-up is right when the last line says "No problem."

# %% tags=["nbval-ignore-output"]
from memlab import doctor

print(doctor.report(doctor.examine()))

# %% [markdown]
# Does a line begin with `problem`? The line below it says what mends it. Do that in a terminal,
# then choose Kernel > Restart Kernel here. A `note` stops nothing.

# %% [markdown]
# ## One line plans every byte of a training step
#
# `linear1` is a network of one layer: 1 weight and 1 bias.

# %%
import memlab
from memlab import units

step = memlab.training_step(memlab.zoo.linear1())
ledger = memlab.plan(step)
ledger

# %% [markdown]
# The ledger lists every operation of the step and every block of memory that one of them needs.
# It is a plan: nothing has run yet. How many bytes are alive at the peak, with 4 samples?

# %%
print(units.exact(ledger.peak(batch=4)))

# %% [markdown]
# Change 4 to 5 and run the cell again. How many bytes does one more sample cost?

# %% [markdown]
# ## MB and MiB differ by almost 5 %
#
# 1 MB is 10⁶ bytes. 1 MiB is 2²⁰ bytes.
# The parameters of `mnist_cnn`, a network for handwritten digits, are numbers of 4 bytes. Together:

# %%
nbytes = 4 * memlab.zoo.mnist_cnn().parameters
print(units.exact(nbytes), "=", units.both(nbytes))

# %% [markdown]
# Many texts write MB and mean MiB. Here each unit means what it says.

# %% [markdown]
# ## You double the batch: does the peak double?
#
# Run the next cell. Say yes or no to the question above, then set **Batch** from 32 to 64.

# %%
view = memlab.views.network_memory("mnist_cnn")
view

# %% [markdown]
# The mountain above the thick line doubles: it holds what each image needs.
# The floor below the line stays. So the peak grows, and does not double.
#
# | to do this | press |
# |---|---|
# | go to the next control | Tab |
# | change the batch | ← → on the slider |
# | go through the operations | ← → on the picture |
# | go to the peak | P on the picture |
# | read it as text | the button **Text** |
#
# Python moves the same slider, and reads the same text. Here is its first paragraph:

# %%
view.batch = 64
summary, *tables = view.text().split("\n\n")
print(summary)

# %% [markdown]
# ## What you change is yours
#
# | where | what |
# |---|---|
# | `my/` | your copies of the lessons, which `make lab` opens |
# | `lessons/` | the lessons as they come; a `git pull` changes these and leaves yours alone |
# | `lessons/solutions/` | every exercise solved, with its output |
# | [glossary](glossary.md) | the words, each with its Chinese and Japanese name |
# | `memlab/` | the code that computes all of this |
#
# To start a lesson again, rename or delete your copy, and run `make lab` again. It makes a fresh
# copy.
#
# On a projector, make every view larger with a cell of these 2 lines:
#
# ```
# %%html
# <style>.memlab-view { --memlab-scale: 1.5 }</style>
# ```

# %% [markdown]
# ## Key points
#
# - `memlab.training_step(network)` describes a step, and `memlab.plan(step)` lists its bytes.
# - MB counts in 10⁶ bytes, MiB in 2²⁰.
# - Bytes that grow with the batch are the mountain; the others are the floor.
#
# Next: [01 One linear layer](01_linear.ipynb). What must one training step keep?
