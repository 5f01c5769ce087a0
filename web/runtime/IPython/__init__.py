"""Stand-in for IPython in a page: the functions by which a notebook shows values."""

from web.runtime.shell import display, get_ipython

version_info = (8, 0, 0)
__version__ = "8.0.0"
__all__ = ["display", "get_ipython", "version_info"]
