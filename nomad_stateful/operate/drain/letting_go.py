"""Whether a client has let go of a volume: by Nomad's claims and by EC2's attachments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nomad_stateful.ebs.volumes import EbsVolumes, is_ebs_volume
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.paths import volume_path
from nomad_stateful.nomad.volume_claims import claims
from nomad_stateful.operate.drain.node import HeldVolume
from nomad_stateful.recovery.plan import stray_plans
from nomad_stateful.recovery.volume_usage import inspect_volume
from nomad_stateful.waiting import Stopwatch

STRAY_AFTER_S = 10.0
"""How long a volume may be attached where nothing claims it: Nomad detaches after it has released the claim."""


@dataclass
class LettingGo:
    """One volume on its way off a client."""

    api: NomadApi
    ebs: EbsVolumes | None
    node: Client
    volume: HeldVolume
    allocation_ids: Sequence[str] = ()
    """Those that had it, for claims that Nomad knows no client of any more."""
    _unclaimed: Stopwatch | None = field(default=None, init=False)

    def holds(self) -> str:
        """Returns what still holds it on the client, empty once nothing does. Raises ProviderError.

        An attachment that nothing claims is ended where the client is known to have unmounted it.
        """
        body = self.api.find(volume_path(self.volume.id), namespace=self.volume.namespace)
        mine = [
            claim
            for claim in claims(body)
            if claim.node_id == self.node.id or (not claim.node_id and claim.alloc_id in self.allocation_ids)
        ]
        if mine:
            self._unclaimed = None
            return f"claimed by {', '.join(map(str, mine))}"
        here = self._attachment()
        if not here:
            return ""
        self._unclaimed = self._unclaimed or Stopwatch()
        if self._unclaimed.seconds < STRAY_AFTER_S:
            return here
        return self._end_stray() or here

    def where(self) -> str:
        """Returns what EC2 says of it now, for the result. Raises ProviderError."""
        if self.ebs is None or not is_ebs_volume(self.volume.external_id):
            return "no claim on this client"
        return str(self.ebs.state(self.volume.external_id))

    def _attachment(self) -> str:
        if self.ebs is None or not is_ebs_volume(self.volume.external_id) or not self.node.instance_id:
            return ""
        state = self.ebs.state(self.volume.external_id)
        here = [one for one in state.attachments if one.instance_id == self.node.instance_id]
        return f"attached to {here[0]}" if here else ""

    def _end_stray(self) -> str:
        """Detaches it where that is safe; returns the next step where it is not."""
        assert self.ebs is not None  # noqa: S101 - it has an attachment
        external_id = self.volume.external_id
        usage = inspect_volume(self.api, self.volume.namespace, self.volume.id, external_id, self.ebs)
        for plan in stray_plans(usage):
            step = plan.steps[0]
            if step.action != "ec2-detach":
                return f"{plan.problem}; next: {step}"
            self.ebs.detach(external_id, step.target)
        return ""
