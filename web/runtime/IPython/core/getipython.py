"""The shell of a page."""

from web.runtime.shell import get_ipython

__all__ = ["get_ipython"]
