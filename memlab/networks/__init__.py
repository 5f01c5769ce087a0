"""Networks: layers, graphs of them, the zoo, and ways of counting. Shapes only."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["counting", "language_models", "zoo"])
