"""Kernels for a web page: the signatures that pages need, compiled to WebAssembly and linked."""
