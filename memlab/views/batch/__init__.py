"""Time per sample against the batch, and the columns that fill the lanes."""
