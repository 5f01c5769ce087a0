# %% [markdown]
# # 13 A language model: what grows with the length of the text?
#
# 45 minutes. Needs: [08 Recompute](08_recompute.ipynb).

# %%
from memlab import lesson, views

views.length("gpt2", 8, fused=True, asked=True, only=("length",), examples=False, height=205)

# %% [markdown]
# GPT-2 trains on 8 texts. Set **Length** to 2048: which parts double, and which stay?
#
# You will be able to
#
# - say how each part of the memory grows with a text,
# - say what adapters save, and what they do not,
# - compute the memory that a model needs while it writes.
#
# Words: [fused attention](glossary.md), [logits](glossary.md), [adapter](glossary.md),
# [frozen parameter](glossary.md), [key-value cache](glossary.md), [grouped heads](glossary.md).

# %%
lesson.recall("13.reads")

# %% tags=["solution"]
lesson.recall("13.reads").guess("input").reveal()

# %%
lesson.recall("13.state")

# %% tags=["solution"]
lesson.recall("13.state").guess("eight").reveal()

# %% [markdown]
# ## What does a text twice as long need?
#
# A text is a row of **tokens**. For **attention**, each token has a query, a key and a value, cut
# into **heads**. In every head, each query is multiplied by each key: n·n products. 2 matrices of
# them are kept for backward: after softmax, and after dropout. The first view kept neither.

# %%
lesson.predict("13.doubled")

# %% tags=["solution", "picture-doubled"]
lesson.predict("13.doubled").guess(4, because="each matrix has 4 times as many values").revise(
    2.9
).reveal()

# %% [markdown]
# **Fused attention** computes the matrices in tiles, in forward and again in backward. It keeps
# only 1 number for each row.
#
# The last layer computes the **logits**: a number for each token and each of 50,257 words. A loss
# in **chunks** takes some tokens at a time: logits, loss and at once backward of both, then the
# next chunk. memlab's loss holds 2 arrays as large as the logits. PyTorch's held 5 on an A100, one
# of them from the call before<sup>F7</sup>.

# %% tags=["numbers"]
{
    "50,257": '__import__("memlab").language_models.find("gpt2").vocabulary',
}

# %%
lesson.change("13.fused")

# %% tags=["solution"]
lesson.change("13.fused").guess("twice").reveal()

# %% [markdown]
# A small GPT runs both ways:

# %%
import memlab


def training(attention):
    network = memlab.zoo.gpt_small(64, layers=2, dropout=0, attention=attention)
    return memlab.training_step(network, "adam").keep("gradients")


plain, lean = training("matrix"), memlab.chunked_loss(training("fused"), 8)
one, other = memlab.run(plain, 8), memlab.run(lean, 8)
differ = max(abs(g - other.gradients[n]).max() / abs(g).max() for n, g in one.gradients.items())
print("gradients differ by less than 1 in 100,000:", differ < 1e-5)
print("measured minus planned:", one.residual, "B and", other.residual, "B")

# %% [markdown]
# **Accumulation** splits the batch. Here are 16,384 tokens, as 8 texts and as 1:

# %%
for texts, length in ((8, 2048), (1, 16384)):
    step = memlab.training_step(memlab.zoo.gpt2(length, attention="fused"), "adam")
    ledgers = memlab.plan(step), memlab.plan(memlab.accumulate(step, texts))
    whole, parts = ledgers[0].peak(texts) / 1e9, ledgers[1].peak(1) / 1e9
    print(f"{texts} x {length:,}: {whole:.1f} GB, with one text at a time {parts:.1f} GB")

# %% [markdown]
# ## What does fine-tuning save?
#
# **Low-rank adapters** (LoRA) leave the parameters **frozen**. Beside a linear layer W, two small
# matrices learn, and the output becomes W·x + B·A·x. A has few rows: its
# **rank**. Here the layers of queries and of values have adapters.

# %%
lesson.predict("13.lora")

# %% tags=["solution", "picture-lora"]
lesson.predict("13.lora").guess(4, because="no gradients, no Adam").revise(1.4).reveal()

# %% [markdown]
# Here it runs:

# %%
small = memlab.lora(memlab.zoo.gpt_small(64, layers=2), rank=4)
run = memlab.run(memlab.training_step(small, "adam"), 8)
print(f"{small.learning:,} values learn; measured minus planned: {run.residual} B")

# %% [markdown]
# ## What does a model need while it writes?
#
# To write the next token, attention reads the keys and values of all tokens so far.

# %%
lesson.predict("13.cache")

# %% tags=["solution", "picture-cache"]
lesson.predict("13.cache").guess(0.4, because="a model is large").revise(4.9).reveal()

# %% [markdown]
# ## Exercise: when do the matrices pass everything else?
#
# **Worked.** The small GPT reads 8 texts of n tokens. **Shapes:** 6 layers with 8 heads keep 2
# matrices of n·n values each for every text. **Bytes:** 6 layers · 8 heads · 2 · 8 texts · 4 B =
# 3,072 B for each n·n. **Lifetime:** all of them wait for backward. **Peak:** in the loss; two
# plans give the rest.

# %%
from memlab.lesson.content.lesson_13 import matrices_at

rest = {}
for n in (100, 200):
    ledger = memlab.plan(memlab.training_step(memlab.zoo.gpt_small(n), "adam"))
    peak = ledger.peak_at(8)
    rest[n] = peak.nbytes - matrices_at(ledger, 8, peak.index)
each = (rest[200] - rest[100]) // 100
print(f"square = 3,072, each = {each:,}, fixed = {rest[100] - 100 * each:,}")

# %% [markdown]
# **With blanks.** At which n do the matrices take more than everything else?

# %%
exercise = lesson.exercise("13.passes")
exercise.show()


# %% tags=["stub"]
def passes(square, each, fixed):
    n = 1
    while square * ... <= ...:  # the matrices, everything else
        n += 1
    return n


# %% tags=["solution"]
def passes(square, each, fixed):
    n = 1
    while square * n * n <= each * n + fixed:
        n += 1
    return n


# %%
exercise.check(passes)

# %% tags=["solution"]
passes(3_072, each, rest[100] - 100 * each)

# %% [markdown]
# ## Exercise: how large is the cache?
#
# **Alone.** With **grouped heads**, several heads that ask share one head of keys and values.

# %%
exercise = lesson.exercise("13.cache_bytes")
exercise.show()


# %% tags=["stub"]
def cache_bytes(layers, features, heads, kv_heads, texts, tokens, nbytes):
    return None  # replace None


# %% tags=["solution"]
def cache_bytes(layers, features, heads, kv_heads, texts, tokens, nbytes):
    return 2 * layers * kv_heads * (features // heads) * texts * tokens * nbytes


# %%
exercise.check(cache_bytes)

# %% [markdown]
# ## What this lesson leaves out
#
# - Beyond 1,024 tokens, the table of positions of GPT-2 grows in these plans.
# - Llama-like models have other layers: a block keeps 3 wide feature maps, not 2<sup>F8</sup>.
#
# Sources: F7, F8.

# %% [markdown]
# ## Key points
#
# - Matrices of attention grow with the square of the length. Feature maps and logits grow with the
#   length. The model state stays.
# - Fused attention removes the matrices, and a loss in chunks removes most of the logits.
# - Adapters save gradients, optimizer state and the inputs of frozen linear layers. Parameters and
#   most feature maps stay.
# - The **key-value cache** grows with every token of every text. Grouped heads make it smaller.
#
# This was the last lesson. If you have not done 09 yet: [09 Offload](09_offload.ipynb).
