"""Small number formats: their codes, conversions, and kernels that compute in fp32 on values stored
in them."""
