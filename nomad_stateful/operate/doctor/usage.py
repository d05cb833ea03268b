"""What holds a volume, asked once."""

from nomad_stateful.ebs.volumes import is_ebs_volume
from nomad_stateful.operate.doctor.facts import Facts
from nomad_stateful.recovery.volume_usage import VolumeUsage, inspect_volume


def usage_of(facts: Facts, namespace: str, volume_id: str, external_id: str) -> VolumeUsage:
    """Returns the claims, clients and, of an EBS volume, the attachments. Raises NotChecked."""

    def read() -> VolumeUsage:
        ebs = facts.sources.ebs(facts.place) if is_ebs_volume(external_id) else None
        return inspect_volume(facts.nomad(), namespace, volume_id, external_id, ebs)

    return facts.once(f"usage of {namespace}/{volume_id}", read)
