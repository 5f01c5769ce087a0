"""The data path that runs: images from a folder to a step that is fed with them."""
