"""Nine shifted copies: what lowering writes, on a small picture and in bytes of a real layer."""
