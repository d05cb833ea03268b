"""The faults, a module for each family; every module has a tuple FAULTS."""

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import replace

from tools.faults.model import Fault
from tools.trial.servers import MYSQL, Server


def every_fault(server: Server = MYSQL, servers: int = 1) -> tuple[Fault, ...]:
    """All faults of all modules of this package on a database with so many Nomad servers, by family and name.

    Raises ValueError when two share a name.
    """
    found: list[Fault] = []
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        found += importlib.import_module(module.name).FAULTS
    found = of_server([one for one in found if one.servers <= servers and one.members == server.members], server)
    names = [fault.name for fault in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two faults have the name {', '.join(twice)}")
    return tuple(sorted(found, key=lambda fault: (fault.family, fault.name)))


def of_server(faults: Iterable[Fault], server: Server) -> list[Fault]:
    """Returns them with the database in their names."""
    return [replace(one, name=one.name.format(title=server.title, process=server.process)) for one in faults]
