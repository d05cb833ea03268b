"""Every driver by its name in the settings: each module of this package that has a ``DRIVER``."""

import importlib
import pkgutil

from nomad_stateful import drivers
from nomad_stateful.drivers.model import CsiDriver


def _found() -> dict[str, CsiDriver]:
    modules = [importlib.import_module(f"{drivers.__name__}.{found.name}") for found in _modules()]
    known = [module.DRIVER for module in modules if hasattr(module, "DRIVER")]
    return {driver.name: driver for driver in known}


def _modules() -> list[pkgutil.ModuleInfo]:
    return [found for found in pkgutil.iter_modules(drivers.__path__) if found.name != "catalogue"]


DRIVERS: dict[str, CsiDriver] = _found()
