# %% [markdown]
# # Appendix: is more workspace faster?
#
# Belongs to: [03 Lowering](../03_lowering.ipynb).
#
# The article on vDNN (Rhu et al., 2016) says so: among the algorithms for a convolution, the faster
# ones take more workspace. But in the lesson the two fastest took almost none, and the largest copy
# was slow. What is the workspace for?
#
# - **For copies.** Lowering writes values that are in memory already. The product needs as many
#   multiplications as the loops.
# - **For fewer multiplications.** Winograd<sup>G5</sup> and Fourier transforms<sup>G7</sup> (FFT)
#   write input and kernels in another form, in which one multiplication does the work of several.
#
# How many multiplications are left, for one input channel and one output channel? The table leaves
# out those of the transforms, because several channels share them.

# %%
from memlab.layers.algorithms import smooth


def loops(k, size):
    return f"{k**2 * size**2:,}"


def winograd(k, size):  # 2·2 outputs from a tile of 4·4, for windows of 3·3
    return f"{4**2 * ((size + 1) // 2) ** 2:,}" if k == 3 else "-"


def fft(k, size):  # each complex product is 4, and half of the frequencies are enough
    side = smooth(size + k - 1)
    return f"{4 * side * (side // 2 + 1):,}"


# %%
print(" window      map      loops  Winograd     FFT")
for k, size in ((3, 56), (3, 7), (31, 56), (1, 56)):
    counts = f"{loops(k, size):>10} {winograd(k, size):>9} {fft(k, size):>7}"
    print(f"{k:>3}·{k:<3} {size:>4}·{size:<3} {counts}")

# %% [markdown]
# ## Do fewer multiplications win?
#
# The layer of the lesson, with windows of 3·3. Compare `winograd` with `im2col-image`: the same
# library computes their products. Then compare both with the fastest:

# %% tags=["nbval-ignore-output", "recorded-large"]
from memlab import views

ways = ("direct", "im2col-image", "im2col-tile", "offsets", "winograd", "fft")
views.algorithm_times("resnet50", "1.1.conv2", 8, ways, progress=False).curve()

# %% [markdown]
# In the recorded run, Winograd takes less time than lowering, and less workspace. A tile and an
# offset table are even faster, but a part of this gap is not theirs: they use memlab's own product.
# FFT needs the fewest multiplications and the most workspace, and it is by far slower.
#
# Now a small feature map of 7·7, at batch 1. Here Winograd transforms 512·512 kernels for 16 tiles:

# %% tags=["nbval-ignore-output", "recorded-small"]
ways = ("direct", "im2col-image", "im2col-tile", "offsets", "winograd")
views.algorithm_times("resnet50", "4.2.conv2", 1, ways, progress=False).curve()

# %% [markdown]
# Here Winograd takes the most workspace, and more time than lowering. Now a window of 31·31, where
# FFT needs only 1 of every 182 multiplications:

# %% tags=["nbval-ignore-output", "recorded-wide"]
import memlab

image = memlab.network("wide window", image=(16, 56, 56))
wide = image.conv(16, kernel=31, pad=15, name="conv").squared_error()
ways = ("direct", "im2col-image", "offsets", "fft")
views.algorithm_times(wide, "conv", 8, ways, progress=False).curve()

# %% [markdown]
# Here FFT is the fastest. The last window is 1·1, where FFT needs more multiplications than the
# loops, and lowering copies nothing:

# %% tags=["nbval-ignore-output", "recorded-point"]
ways = ("im2col-image", "im2col-tile", "offsets", "fft")
views.algorithm_times("resnet50", "1.1.conv1", 8, ways, progress=False).curve()

# %% [markdown]
# ## So who is right?
#
# Both are right, about different things.
#
# - The article is about cuDNN on a GPU. cuDNN either lowers in tiles, without workspace, or uses
#   transforms, with much workspace. There, more workspace means fewer multiplications. memlab has
#   no times of cuDNN.
# - Other libraries were measured on a Titan X, as in the paper:
#   [convnet-benchmarks](https://github.com/soumith/convnet-benchmarks) (2015), layer by layer,
#   forward. FFT was the fastest for windows of 9·9 and 7·7. For windows of 3·3, and for images of
#   3 channels, the fastest was cuda-convnet2, which neither lowers nor transforms. Caffe, which
#   lowers, was never the fastest.
# - Here, one thread of a processor ran memlab's kernels. For windows of 3·3, tiles with memlab's
#   product save more time than Winograd's transforms with a library's. memlab's FFT adds up its
#   products without tiles, so a library would be faster.
#
# One statement is always true: if the fastest algorithm within a **limit** is chosen, a larger
# limit is never slower, because there are more algorithms to choose from. A program asks cuDNN in
# this way, and you can ask `memlab.lowering(step, batch=32, limit="8 MiB")`, once
# `memlab bench machine` has measured your machine. But the fastest algorithm may use much less than
# the limit.
#
# Sources: G5, G7.

# %% tags=["numbers"]
{
    "512": "zoo.resnet50().by_name['4.2.conv2'].shape[0]",
    "182": "round(31**2 * 56**2 / (4 * 90 * 46))",
}
