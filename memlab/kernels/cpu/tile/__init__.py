"""Convolution tile by tile, with vectors of a width that is written down."""
