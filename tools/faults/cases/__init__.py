"""The faults, a module for each family; every module has a tuple FAULTS."""

import importlib
import pkgutil

from tools.faults.model import Fault


def every_fault() -> tuple[Fault, ...]:
    """All faults of all modules of this package, by family and name. Raises ValueError when two share a name."""
    found: list[Fault] = []
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        found += importlib.import_module(module.name).FAULTS
    names = [fault.name for fault in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two faults have the name {', '.join(twice)}")
    return tuple(sorted(found, key=lambda fault: (fault.family, fault.name)))
