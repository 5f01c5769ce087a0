"""Views of vectors and mini-batches."""
