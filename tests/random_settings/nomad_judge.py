"""What a real Nomad says to what the program would hand it, by the endpoint of `nomad job validate` and its like."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from nomad_stateful.nomad.api import NomadApi, NomadApiError
from tests.random_settings.resources import Resources

JOB = "nomad:index/job:Job"
VARIABLE = "nomad:index/variable:Variable"
VOLUMES = ("nomad:index/csiVolume:CsiVolume", "nomad:index/csiVolumeRegistration:CsiVolumeRegistration")
UNITS = {"MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
LARGEST_BYTES = 2**63 - 1
NO_PLUGIN = "no CSI plugin named"
"""What Nomad says once it has found nothing else to say against a volume."""


class NomadJudge:
    """Asks an agent of a test's own; what it stores is taken away again."""

    def __init__(self, api: NomadApi) -> None:
        self._api = api
        self._known: dict[tuple[str, str], str] = {}
        self.jobs: dict[str, Any] = {}
        """The last jobs that were judged, as Nomad reads them, by the resources' names."""

    def complaints(self, resources: Resources) -> list[str]:
        """Everything that Nomad refuses of a program's resources."""
        self.jobs = {}
        return list(self._complaints(resources))

    def _complaints(self, resources: Resources) -> Iterator[str]:
        for name, resource in resources.items():
            if resource.typ == JOB:
                yield from self._of_job(name, resource.inputs)
            elif resource.typ == VARIABLE:
                yield from self._of_variable(name, resource.inputs)
            elif resource.typ in VOLUMES:
                yield from self._of_volume(name, resource.inputs)

    def _of_job(self, name: str, inputs: Mapping[str, Any]) -> Iterator[str]:
        lines = [f"{key} = {value}" for key, value in sorted(inputs["hcl2"]["vars"].items())]
        try:
            job = self._api.put("jobs/parse", {"JobHCL": inputs["jobspec"], "Variables": "\n".join(lines) + "\n"})
        except NomadApiError as error:
            yield f"{name} is not parsed: {error}"
            return
        self.jobs[name] = job
        namespace = job["Namespace"]
        yield from self._made(f"namespace/{quote(namespace, safe='')}", {"Name": namespace})
        pool = job["NodePool"]
        if pool not in ("", "default", "all"):
            yield from self._made(f"node/pool/{quote(pool, safe='')}", {"Name": pool})
        said = self._put("validate/job", {"Job": job}, namespace=namespace)
        found = said if isinstance(said, str) else said.get("Error")
        if found:
            yield f"{name}: {found}"
        elif job.get("Periodic"):
            plan = self._put(f"job/{job['ID']}/plan", {"Job": job}, namespace=namespace)
            if isinstance(plan, str):
                yield f"{name} is not planned: {plan}"
            elif str(plan["NextPeriodicLaunch"]).startswith("0001"):
                yield f"{name} is never launched: {job['Periodic']['Specs']}"

    def _of_variable(self, name: str, inputs: Mapping[str, Any]) -> Iterator[str]:
        path, namespace = f"var/{inputs['path']}", inputs["namespace"]
        yield from self._made(f"namespace/{quote(namespace, safe='')}", {"Name": namespace})
        said = self._put(path, {"Path": inputs["path"], "Items": inputs["items"]}, namespace=namespace)
        if isinstance(said, str):
            yield f"{name}: {said}"
        else:
            self._api.delete(path, namespace=namespace)

    def _of_volume(self, name: str, inputs: Mapping[str, Any]) -> Iterator[str]:
        capacity = re.fullmatch(r"(\d+)(MiB|GiB|TiB)", inputs.get("capacityMin") or "0MiB")
        if capacity is None or int(capacity[1]) * UNITS[capacity[2]] > LARGEST_BYTES:
            yield f"{name}: no number of bytes is {inputs['capacityMin']}"
        capabilities = [
            {"AccessMode": one["accessMode"], "AttachmentMode": one["attachmentMode"]} for one in inputs["capabilities"]
        ]
        volume = {
            "ID": inputs["volumeId"],
            "Name": inputs["name"],
            "Namespace": inputs["namespace"],
            "PluginID": inputs["pluginId"],
            "ExternalID": inputs.get("externalId", ""),
            "RequestedCapabilities": capabilities,
            "MountOptions": {"FSType": (inputs.get("mountOptions") or {}).get("fsType", "")},
        }
        path = f"volume/csi/{quote(inputs['volumeId'], safe='')}"
        said = self._put(path, {"Volumes": [volume]}, namespace=inputs["namespace"])
        if not isinstance(said, str) or NO_PLUGIN not in said:
            yield f"{name}: {said}"

    def _made(self, path: str, body: dict[str, Any]) -> Iterator[str]:
        """What others name exists, where it can exist."""
        key = (path, str(body))
        if key not in self._known:
            said = self._put(path, body)
            self._known[key] = f"{path}: {said}" if isinstance(said, str) else ""
        if self._known[key]:
            yield self._known[key]

    def _put(self, path: str, body: dict[str, Any], **params: Any) -> Any:
        """The answer; a text where it is a refusal."""
        try:
            return self._api.put(path, body, **params) or {}
        except NomadApiError as error:
            return str(error)
