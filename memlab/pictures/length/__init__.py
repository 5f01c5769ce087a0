"""Bytes of a language model by the length of its texts: the sizes, the page and the view."""
