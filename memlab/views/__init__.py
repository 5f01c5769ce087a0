"""Every picture and every widget of memlab; the first one loads anywidget and ipywidgets.

>>> view = memlab.views.memory("resnet50", batch=32)
>>> print(view)
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""``__init__.pyi`` lists them. ``memory`` is the function, also once a module of that name is
imported."""
