"""Publishers of outputs."""

from web.runtime.shell import CapturingDisplayPublisher, DisplayPublisher

__all__ = ["CapturingDisplayPublisher", "DisplayPublisher"]
