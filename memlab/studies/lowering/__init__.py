"""Studies of convolution and of lowering."""
