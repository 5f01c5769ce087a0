"""Time beside bytes: what each way to convolve takes here, as bars and as a curve."""
