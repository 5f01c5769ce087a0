"""Small formats: codes, conversions, and kernels that compute in fp32 what is stored small."""
