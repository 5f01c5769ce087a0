"""One image of a batch: its time in a layer, and the bytes that the layer moves for it."""
