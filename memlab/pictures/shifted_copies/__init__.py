"""Picture of lowering a convolution (im2col): how often each value of the input is copied."""
