"""Data path that really runs: images from a folder, loaded for a step that trains with them."""
