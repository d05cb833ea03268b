"""Arguments and environment of a driver: nothing that overrides what the program gives it."""

import re
from collections.abc import Iterable, Mapping

from nomad_stateful.drivers.model import ENDPOINT_VARIABLE, CsiDriver
from nomad_stateful.program.settings.errors import Refusal

_FLAG = re.compile(r"--(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(=.*)?", re.DOTALL)


def check_arguments(arguments: Iterable[str], driver: CsiDriver) -> None:
    """Raises Refusal for an argument that is not a flag with its value, or one of a flag that the program gives."""
    own = {_folded(flag): setting for flag, setting in driver.own_flags.items()}
    for index, argument in enumerate(arguments):
        key, flag = f"extraArgs.{index}", _FLAG.fullmatch(argument)
        if flag is None:
            raise Refusal(key, argument, "must be one flag with its value", "write --flag=value")
        # democratic-csi takes --csiName, --no-csi-name and --csi-name.x for --csi-name too.
        name = flag["name"].partition(".")[0]
        decided = next((own[_folded(one)] for one in (name, name.removeprefix("no-")) if _folded(one) in own), None)
        if decided:
            raise Refusal(key, argument, "a setting sets this flag", f"use {decided}")
        if decided is not None:
            raise Refusal(key, argument, "the program sets this flag", "remove it")


def check_environment(env: Mapping[str, str], driver: CsiDriver) -> None:
    """Raises Refusal for a variable by which Nomad or the program tell the driver something."""
    own = {**ENDPOINT_VARIABLE, **driver.own_env}
    for name, value in env.items():
        if name in own:
            setting = own[name]
            remedy = f"remove it, and set {setting}" if setting else "remove it"
            raise Refusal(f"env.{name}", value, "Nomad or the program sets this variable", remedy)


def _folded(flag: str) -> str:
    return re.sub("[-_]", "", flag).lower()
