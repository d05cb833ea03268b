"""What is going to be done, by what is found.

The settings say which image is wanted, Nomad which one is registered, the server itself which version runs, and EC2 has
the snapshot, with both versions in its tag. Nothing else is remembered: the same command goes on after a kill.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nomad_stateful.databases.model import Database
from nomad_stateful.databases.upgrades import Section, UpgradeRefusedError, Version
from nomad_stateful.ebs.tags import upgrade_tag
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import stack
from nomad_stateful.operate.dumps import restoring
from nomad_stateful.operate.engine import Change, Engine
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.snapshots import SnapshotError, Snapshots
from nomad_stateful.operate.upgrade.wanted import changed_job
from nomad_stateful.operate.upgrade_database import wanted
from nomad_stateful.operate.upgrade_database.server import Server
from nomad_stateful.operate.upgrade_database.wanted import Images, section_of

Phase = Literal["begin", "await", "settle", "done"]
"""What is next.

begin: the server of before runs; await: the new one was begun and does not answer; settle: it answers, and settings or
state do not agree; done: nothing is left to do.
"""


@dataclass(frozen=True)
class Plan:
    """One upgrade."""

    phase: Phase
    before: Version
    after: Version
    images: Images
    snapshot_id: str = ""
    """Of an upgrade that was begun before: its snapshot."""
    job: Mapping[str, Any] | None = None
    """The server's job as the update will register it."""
    changes: tuple[Change, ...] = ()


@dataclass
class Situation:
    """The stack as it is now."""

    engine: Engine
    server: Server
    volume: str

    @property
    def kind(self) -> Database:
        """Which database it is."""
        return self.server.kind

    def plan(self, after: Version, image: str) -> Plan:
        """Checks everything that can be checked before something changes. Raises OperateError."""
        config, runs, here = self.engine.config(), self.server.version(), self.server.image()
        section = config.get(section_of(self.kind)) or {}
        now = str(section.get("image") or here)
        images = wanted.images(self.kind, now, after, image)
        wanted.refuse_other_server(self.kind, here, images.after)
        if runs == after:
            agrees = now == here and not self.engine.pending()
            return Plan("done" if agrees else "settle", after, after, images)
        if runs is None:
            return self._begun(after, images, now)
        self.server.upgrades.refuse_path(runs, after)
        if now not in (here, images.after):
            raise UpgradeRefusedError(
                f"{self.kind.name}.image is {now} in the settings, and {here} runs: run `pulumi up` (or take it "
                "back), and the same command again"
            )
        return self._first(section, runs, after, Images(images.section, here, images.after), now)

    def _begun(self, after: Version, images: Images, now: str) -> Plan:
        """Returns the plan of an upgrade that was begun before. Raises UpgradeRefusedError where none was."""
        tag = upgrade_tag(self.kind.name)
        found = Snapshots(self.volume).newest(tag)
        mark = found.tags[tag] if found else ""
        before, to, image = (*mark.split(" "), "", "", "")[:3]
        version = Version.parse(before, len(after))
        if found is None or version is None or to != str(after) or now != images.after:
            raise UpgradeRefusedError(
                f"{self.kind.title} does not answer, and only a server that runs is upgraded. `nomad-stateful explain "
                f"{self.server.job_id}` says why; run the same command again when it answers"
            )
        return Plan("await", version, after, Images(images.section, image, images.after), found.id)

    def _first(self, section: Section, before: Version, after: Version, images: Images, now: str) -> Plan:
        self._refuse_options(section, before, after)
        self._refuse_contents(section, after)
        self._refuse_without_snapshot(images)
        if left := restoring(self.server.nomad, stack.database_outputs()):
            raise UpgradeRefusedError(left)
        if now == images.before and (pending := self.engine.pending()):
            raise UpgradeRefusedError(
                f"the stack has other pending changes, which this update would also apply:\n{pending}\nRun "
                "`pulumi up`, or revert them, and run the same command again"
            )
        changes = tuple(self.engine.changes(images.settings))
        if others := sorted(one.name for one in changes if one.op != "update"):
            raise UpgradeRefusedError(
                f"an update would do more than change what is there: {', '.join(others)}. Run `pulumi preview`, and "
                "`pulumi up` for what is pending first"
            )
        job = changed_job(self.server.nomad, self.server.job_id, changes)
        if job is None:
            raise OperateError(f"an update with image {images.after} would not change job {self.server.job_id}")
        return Plan("begin", before, after, images, job=job, changes=changes)

    def _refuse_options(self, section: Section, before: Version, after: Version) -> None:
        if wrong := self.server.upgrades.option_problems(section, after):
            raise UpgradeRefusedError(
                f"{self.kind.title} {after} would not start, or not be whole, with these settings ({before} runs on):"
                + "".join(f"\n  {one}" for one in wrong)
                + "\nRun `pulumi up` after the change, then the same command again"
            )

    def _refuse_contents(self, section: Section, after: Version) -> None:
        if wrong := self.server.upgrades.content_problems(section, after, self.server.names):
            raise UpgradeRefusedError(
                "\n  ".join([f"{self.kind.title} {after} does not take what the server has:", *wrong])
            )

    def _refuse_without_snapshot(self, images: Images) -> None:
        try:
            Snapshots(self.volume).refuse_unpermitted()
        except (SnapshotError, ProviderError) as error:
            raise UpgradeRefusedError(
                f"{error}. Without a snapshot there is no way back from an upgrade. Where EC2 can take none: have a "
                f"dump made and tried (docs/consumers.md), set {self.kind.name}.image to {images.after}, and run "
                "`pulumi up`"
            ) from error
