"""Private parts of other packages that memlab needs.

No package promises to keep such a thing. So it is asked for by name, where it is needed: another
version that lacks it gets one sentence there, and the rest of memlab works. All that memlab takes
from one package stands in one module, such as ``memlab.frontends.torch.torch_private_api``;
``tests/test_private_api.py`` asks for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from memlab.errors import InputError


class InternalError(InputError):
    """Error for a package whose version lacks a private name that memlab needs."""


class Package(NamedTuple):
    """Package, with the first and the last version that are known to have all the private names
    that memlab uses.

    pyproject.toml excludes what is older, and the next major version; what lies between is allowed,
    for most of it will do.
    """

    name: str
    first: str
    last: str

    def lacks(self, what: str, use: str) -> InternalError:
        """Return the error for a missing private name, which memlab needs to ``use``."""
        try:
            here = version(self.name)
        except PackageNotFoundError:
            here = "of this machine"
        return InternalError(
            f"{self.name} {here} has no {what}, which memlab needs to {use}; "
            f"try pip install '{self.name}>={self.first},<={self.last}'."
        )


@dataclass(frozen=True, slots=True)
class Internal:
    """Private name of a package: the module or class that has it, and what memlab needs it for."""

    package: Package
    home: str
    name: str
    use: str

    def __call__(self) -> Any:
        """Return the object, where a module has it.

        Raises:
            InternalError: it is not there.
        """
        try:
            return getattr(import_module(self.home), self.name)
        except (ImportError, AttributeError):
            raise self.missing() from None

    def of(self, owner: Any) -> Any:
        """Return the object from an instance of the class that has it.

        Raises:
            InternalError: this one has not.
        """
        try:
            return getattr(owner, self.name)
        except AttributeError:
            raise self.missing() from None

    def replace(self, owner: Any, value: Any) -> None:
        """Replace the attribute of ``owner`` with ``value``. Raise an error if it does not exist,
        since nothing would read another name.

        Raises:
            InternalError: it is not there.
        """
        self.of(owner)
        setattr(owner, self.name, value)

    def missing(self) -> InternalError:
        """Return the error for a missing name."""
        return self.package.lacks(f"{self.home}.{self.name}", self.use)
