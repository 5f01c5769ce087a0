"""JupyterLite beside the pages: the lessons as notebooks, on the same Pyodide, without an install.

``python -m web.lite build/site`` adds the folder ``lite`` to a site that is built. JupyterLite and
what belongs to it are installed into an environment of their own, ``build/web/lite-VERSION``.
"""
