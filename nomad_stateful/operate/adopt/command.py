"""Settings for what runs already: the first preview with them changes nothing that runs, and no consumer stops."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.ebs import aws_session
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.operate import project, stack
from nomad_stateful.operate.adopt import ebs, terraform
from nomad_stateful.operate.adopt import found as cluster
from nomad_stateful.operate.adopt.settings import Adoption, adoption
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Checks, Frame, acts_unless_dry, add_change_options, framed
from nomad_stateful.operate.progress import say

_PREFIX = "nomad-stateful:"


def run(frame: Frame, known: Namespace) -> None:
    """Prints the settings, and writes them where that is asked for. Raises OperateError where there are none."""
    managed = terraform.read(known.terraform_state) if known.terraform_state else []
    config = _of_providers()
    place = _place(config)
    with closing(connect(config=config)) as nomad:
        found = cluster.read(nomad, place, dict(known.driver))
    namespace = known.namespace or _only_namespace(found)
    flags = terraform.mount_flags(managed) | dict(known.mount_flags)
    made = adoption(found, namespace, flags)
    made, tags = ebs.take(made, found, place) if known.ebs else (made, [])
    made.gaps.extend(terraform.gaps(managed, found))
    own = {one.external_id for one in tags}
    plan = _Plan(made, tags, terraform.handover(managed, made.names, namespace, own), terraform.kept(managed, own))
    frame.tell(plan.object(), plan.text())
    if not made.names:
        raise OperateError("no volume can be adopted: the lines above say why")
    if known.write:
        _write(frame, plan, place)


def _only_namespace(found: cluster.Found) -> str:
    namespaces = sorted({one.namespace for one in found.volumes})
    if not namespaces:
        raise OperateError("Nomad has no CSI volume: there is nothing to adopt. Check NOMAD_ADDR and NOMAD_TOKEN")
    if len(namespaces) > 1:
        raise OperateError(
            f"the volumes are in the namespaces {', '.join(namespaces)}, and a stack has one: add --namespace "
            f"{namespaces[0]}, and adopt the others by stacks of their own"
        )
    return namespaces[0]


def yaml_text(settings: dict[str, Any]) -> str:
    """Returns the settings as in Pulumi.STACK.yaml."""
    import yaml  # of this command alone

    keyed = {f"{_PREFIX}{key}": value for key, value in settings.items()}
    return str(yaml.safe_dump({"config": keyed}, sort_keys=False, width=120))


@dataclass(frozen=True)
class _Plan:
    """What is written, and what is said of it."""

    made: Adoption
    tags: list[ebs.Tagging]
    after: list[str]
    """Commands for afterwards."""
    kept: list[str]
    """Addresses of what goes on being Terraform's."""

    def text(self) -> str:
        """Returns settings, what is not among them, what goes on as it is, and what to do."""
        made = self.made
        lines = [yaml_text(made.settings).rstrip()] if made.names else []
        lines += _section(
            "No setting expresses, so that these volumes are left out:", [g for g in made.gaps if g.leaves_out]
        )
        lines += _section("To look after:", [one for one in made.gaps if not one.leaves_out])
        lines += _section("Tags that --write gives EBS volumes, which become the stack's by them:", self.tags)
        lines += _section("These go on as they are, and are not the stack's:", [*made.untouched, *self.kept])
        if made.names:
            what = "creates and imports" if self.tags else "creates"
            steps = [f"pulumi preview  # {what} only: docs/adopt.md says what each is", "pulumi up"]
            steps += [f"remove {_PREFIX}adopt from the settings"] if "adopt" in made.settings else []
            lines += _section("Next:", [*steps, *self.after])
        return "\n".join(lines)

    def object(self) -> dict[str, Any]:
        """Returns the same for scripts."""
        gaps = [
            {
                "subject": gap.subject,
                "key": gap.key,
                "value": gap.value,
                "why": gap.why,
                "remedy": gap.remedy,
                "leftOut": gap.leaves_out,
            }
            for gap in self.made.gaps
        ]
        tags = [{"volume": one.volume, "externalId": one.external_id, "tags": one.missing} for one in self.tags]
        return {
            "settings": self.made.settings,
            "notExpressed": gaps,
            "tags": tags,
            "untouched": [*self.made.untouched, *self.kept],
            "afterwards": self.after,
        }


def _section(title: str, lines: Sequence[Any]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def _path() -> Path:
    return project.settings_file(stack.chosen())


def _file() -> dict[str, Any]:
    """Returns the stack's settings file: Pulumi shows no configuration while what the project requires is missing."""
    return project.read(_path())


def _config(known: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings of that file. Raises OperateError where they are no map."""
    config = known.get("config") or {}
    if not isinstance(config, dict):
        raise OperateError(
            f"{_path().name} has a config that is not a map: settings are by their keys. Write it as one"
        )
    return {str(key): value for key, value in config.items()}


def _of_providers() -> dict[str, Any]:
    """Returns the configuration of the providers, by whole keys. Raises OperateError where a secret is among it."""
    config = _config(_file())
    known = {key: value for key, value in config.items() if key.startswith(("aws:", "nomad:", "nomad-csi:"))}
    if hidden := sorted(key for key, value in known.items() if isinstance(value, dict) and "secure" in value):
        raise OperateError(
            f"{_path().name} has {hidden[0]} as a secret, which this command does not decrypt: put the credentials "
            "into the environment (AWS_PROFILE, AWS_ACCESS_KEY_ID, NOMAD_TOKEN …), and take the key out for now"
        )
    return known


def _place(config: dict[str, Any]) -> AwsPlace:
    """Returns the account's region and the aws provider's configuration."""
    of_aws = {key.removeprefix("aws:"): value for key, value in config.items() if key.startswith("aws:")}
    return AwsPlace(region=str(of_aws.get("region") or ""), config=aws_session.chosen(of_aws))


def _write(frame: Frame, plan: _Plan, place: AwsPlace) -> None:
    """Writes the tags, then the stack's settings file.

    Raises OperateError where that has such settings already, nobody agrees, or EC2 refuses.
    """
    import yaml

    path = _path()
    _unwritten()
    tagged = [one.external_id for one in plan.tags if one.missing]
    first = f"tag {', '.join(tagged)}, and " if tagged else ""
    if frame.dry_run:
        say(f"would {first}write {path.name}; nothing was changed")
        return
    frame.agree(f"{first}write {path.name}?")
    # The answer may have taken minutes.
    known = _unwritten()
    if tagged:
        ebs.write(plan.tags, place)
        say(f"tagged {', '.join(tagged)}")
    keyed = {f"{_PREFIX}{key}": value for key, value in plan.made.settings.items()}
    whole = {**known, "config": {**_config(known), **keyed}}
    path.write_text(yaml.safe_dump(whole, sort_keys=False, width=120), encoding="utf-8")
    say(f"wrote {path.name}")


def _unwritten() -> dict[str, Any]:
    """Returns the stack's settings file. Raises OperateError where it has such settings already."""
    known = _file()
    if given := sorted(key for key in _config(known) if key.startswith(_PREFIX)):
        raise OperateError(
            f"{_path().name} has {', '.join(given)} already: nothing was written. Merge the settings above by hand, or "
            "adopt by a stack of its own (`pulumi stack init NAME`)"
        )
    return known


def _flags(given: str) -> tuple[str, list[str]]:
    volume, given_flags, flags = given.partition("=")
    if not volume or not given_flags or not all(flags.split(",")):
        raise ArgumentTypeError(f"{given} must be VOLUME=FLAG,FLAG")
    return volume, flags.split(",")


def _driver(given: str) -> tuple[str, str]:
    plugin, _, driver = given.partition("=")
    if not plugin or driver not in DRIVERS:
        raise ArgumentTypeError(f"{given} must be PLUGIN=DRIVER, of the drivers {', '.join(sorted(DRIVERS))}")
    return plugin, driver


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--namespace", default="", help="the Nomad namespace; by default the only one with CSI volumes")
    parser.add_argument("--terraform-state", type=Path, metavar="FILE", help="a state file, to name what Terraform has")
    parser.add_argument(
        "--mount-flags",
        type=_flags,
        action="append",
        default=[],
        metavar="VOLUME=FLAG,FLAG",
        help="mount flags of a registration, which Nomad does not show",
    )
    parser.add_argument(
        "--driver",
        type=_driver,
        action="append",
        default=[],
        metavar="PLUGIN=DRIVER",
        help="the driver of a plugin that does not say it itself",
    )
    parser.add_argument(
        "--ebs",
        action="store_true",
        help="have the EBS volumes become the stack's, too: --write tags them, and `pulumi up` imports them",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write what is printed: the settings to Pulumi.STACK.yaml, and with --ebs the tags; asks before",
    )
    add_change_options(parser)


_NO_STACK = "no stack exists yet; writes its settings file, and with --ebs tags of volumes without a stack"

COMMAND = framed(
    "adopt",
    "print settings for the volumes and plugins that run already; --write writes them",
    run,
    _arguments,
    checks=Checks(turn=_NO_STACK, pulumi=_NO_STACK, cluster="no stack exists yet"),
    acts=lambda known: bool(known.write and acts_unless_dry(known)),
)
