"""Encryption of the volumes: their keys, and the account's default."""

from collections.abc import Iterator

from nomad_stateful.operate.doctor.facts import Facts
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

_KEYS = "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html"
_DEFAULT = "https://docs.aws.amazon.com/ebs/latest/userguide/encryption-by-default.html"


def keys_usable(facts: Facts) -> Iterator[Finding]:
    """The KMS keys of the volumes exist and are enabled."""
    for key in sorted({str(volume["kmsKeyArn"]) for volume in facts.volumes() if volume.get("kmsKeyArn")}):
        state = str(facts.ask("kms", "describe_key", KeyId=key)["KeyMetadata"]["KeyState"])
        if state != "Enabled":
            pending = state == "PendingDeletion"
            command = "cancel-key-deletion" if pending else "enable-key"
            then = f" && aws kms enable-key --key-id {key}" if pending else ""
            why = "a volume under it is not attached any more once it is detached, and is lost with its key"
            yield problem(f"the key {key} is {state}", why, f"aws kms {command} --key-id {key}{then}", _KEYS)


def by_default(facts: Facts) -> Iterator[Finding]:
    """What EC2 makes without being asked to encrypt it is encrypted: copies, root volumes, others' volumes."""
    if not facts.ask("ec2", "get_ebs_encryption_by_default")["EbsEncryptionByDefault"]:
        what = f"EBS encryption by default is off in {facts.place.region}"
        why = "volumes with encrypted: false, and those made by hand from a plain snapshot, are written unencrypted"
        cure = f"aws ec2 enable-ebs-encryption-by-default --region {facts.place.region}"
        yield warning(what, why, cure, _DEFAULT)
