# %% [markdown]
# # Appendix: who still holds a mini-batch?
#
# Belongs to: [10 The data path](../10_data_path.ipynb).
#
# A loader fills 2 places again and again. A program that holds on to what was in them needs a new
# place for every mini-batch, and no error says so: the values are right. That is a **leak**.
#
# Here is a generator of mini-batches in fp32, and 3 ways to take the mean of each. What do they
# hold?

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
# `list` holds all 10 of them. One by one there are 2: while the generator makes the next one, the
# name `x` still has the one before. The last way looks at 1 row of each image, and holds all the
# same: a slice keeps the whole array that it is cut from.
#
# ## Exercise: no more than 2
#
# The places of a ring are arrays that are there from the start, and are written again. Write it so
# that no more than 2 mini-batches are alive; the meter looks.

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
