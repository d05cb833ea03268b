"""What a task has printed, as its client keeps it.

https://developer.hashicorp.com/nomad/api-docs/client#stream-logs
"""

from dataclasses import dataclass
from typing import Literal

from nomad_stateful.nomad.api import NomadApi, NomadApiError


@dataclass(frozen=True)
class TaskLog:
    """Output of one task of an allocation."""

    nomad: NomadApi
    namespace: str
    allocation_id: str
    task: str
    kind: Literal["stdout", "stderr"] = "stdout"

    def since(self, offset: int = 0) -> str:
        """Returns what follows that many bytes. "" where the task has not started. Raises NomadApiError for 403."""
        return self._read("start", offset)

    def last(self, size: int) -> str:
        """Returns its last bytes, `size` at most, as `since` does."""
        return self._read("end", size)

    def _read(self, origin: str, offset: int) -> str:
        try:
            return self.nomad.text(
                f"client/fs/logs/{self.allocation_id}",
                namespace=self.namespace,
                task=self.task,
                type=self.kind,
                origin=origin,
                offset=offset,
                plain=True,
                follow=False,
            )
        except NomadApiError as error:
            if error.status == 403:
                raise
            return ""
