"""Values that exist only once something is deployed, and secrets."""

from typing import Literal

Source = Literal[
    "volume_id",
    "external_id",
    "registration_id",
    "restart_id",
    "plugin_id",
    "topology_key",
    "storage_id",
    "storage_restart_id",
    "root_password",
    "account_password",
    "bucket",
    "secret",
    "region",
    "account_id",
    "partition",
    "claimant",
]
"""Of what: a registered volume, a plugin in a zone, an EBS volume, the database, a bucket, a setting, or the stack."""


class Later(str):
    """Stands in a component's inputs for such a value, which the wiring puts there; until then it reads as a text."""

    source: Source
    of: str
    """Whose: the volume's id, PLUGIN/ZONE, the account, the bucket's resource, or the path of the setting."""

    def __new__(cls, source: Source, of: str = "", text: str = "") -> "Later":
        """Returns one that reads as `text`."""
        later = super().__new__(cls, text)
        later.source, later.of = source, of
        return later

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Later):
            return False
        return (self.source, self.of, str(self)) == (other.source, other.of, str(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.source, self.of))
