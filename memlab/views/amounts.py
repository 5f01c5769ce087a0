"""See ``memlab.studies.amounts``."""

from memlab.studies.amounts import binary, change, percent, signed, sum_of, unit_of

__all__ = ["binary", "change", "percent", "signed", "sum_of", "unit_of"]
