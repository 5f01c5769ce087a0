# %% [markdown]
# # Appendix: which variables still hold a mini-batch?
#
# Belongs to: [10 The data path](../10_data_path.ipynb).
#
# A loader fills the same 2 places again and again. If your program still refers to an old
# mini-batch, its memory cannot be used again, and each mini-batch needs a new place. The results
# are right, so no error tells you. This is a **leak**.
#
# Here is a generator of mini-batches in fp32, and 3 functions that use each of them. How many
# mini-batches do they keep in memory?

# %%
import numpy as np

from memlab import lesson

images = np.zeros((640, 3, 32, 32), np.uint8)


def batches():
    for first in range(0, 640, 64):
        yield images[first : first + 64].astype(np.float32)


def at_once():
    return [x.mean() for x in list(batches())]


def one_by_one():
    return [x.mean() for x in batches()]


def last_alone():
    return [x[0, 0, 0, :1].mean() for x in [each[:, :, :1] for each in batches()]]


# %%
size = 4 * 64 * 3 * 32 * 32
for way in (at_once, one_by_one, last_alone):
    print(f"{way.__name__:10} {lesson.measure(way).peak / size:.2f} mini-batches")

# %% [markdown]
# `list` keeps all 10 mini-batches. One by one, there are 2: while the generator makes the next one,
# the variable `x` still refers to the one before. `last_alone` keeps 1 row of each image, and
# so all mini-batches: a slice keeps the whole array that it is a part of.
#
# ## Exercise: no more than 2
#
# Use one array again and again. Write the function so that at most 2 mini-batches are in memory at
# once; the check measures it.

# %%
exercise = lesson.exercise("10.means")
exercise.show()


# %% tags=["stub"]
def means(images, batch):
    return None  # replace None


# %% tags=["solution"]
def means(images, batch):
    def batches():
        place = np.empty((batch, *images.shape[1:]), np.float32)
        for first in range(0, len(images), batch):
            part = images[first : first + batch]
            x = place[: len(part)]  # the last mini-batch may be smaller
            x[:] = part
            x /= 255
            yield x

    return [x.mean() for x in batches()]


# %%
exercise.check(means)
