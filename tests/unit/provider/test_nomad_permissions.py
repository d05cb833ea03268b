"""A 403 of Nomad says which line a policy lacks."""

from typing import Any

import pytest

from nomad_stateful.nomad.permissions import Request, remedy

CSI_JOB = {"Job": {"TaskGroups": [{"Tasks": [{"CSIPluginConfig": {"ID": "p"}}], "Volumes": {"v": {"Type": "csi"}}}]}}


@pytest.mark.parametrize(
    ("request_", "line"),
    [
        (Request("GET", "nodes", {}), 'node { policy = "read" }'),
        (Request("GET", "agent/members", {}), 'node { policy = "read" }'),
        (Request("GET", "agent/self", {}), 'agent { policy = "read" }'),
        (Request("GET", "client/stats", {"node_id": "1"}), 'node { policy = "read" }'),
        (Request("PUT", "node/1/drain", {}), 'node { policy = "write" }'),
        (Request("GET", "plugin/csi/ebs", {}), 'plugin { policy = "read" }'),
        (Request("GET", "jobs", {"namespace": "*"}), 'namespace "default" { capabilities = ["list-jobs"] }'),
        (Request("GET", "job/x/allocations", {"namespace": "db"}), 'namespace "db" { capabilities = ["read-job"] }'),
        (Request("PUT", "jobs", {}, {"Job": {}}), 'namespace "default" { capabilities = ["submit-job"] }'),
        (Request("PUT", "jobs", {}, CSI_JOB), '["submit-job", "csi-register-plugin", "csi-mount-volume"]'),
        (Request("DELETE", "job/x", {}), '["submit-job"]'),
        (Request("PUT", "job/x/evaluate", {}), '["evaluate-job"]'),
        (Request("PUT", "job/x/plan", {}, CSI_JOB), '["plan-job"]'),
        (Request("PUT", "volume/csi/v", {}), '["csi-write-volume"] }; plugin { policy = "read" }'),
        (Request("PUT", "volume/csi/v/create", {}), '["csi-write-volume"]'),
        (Request("GET", "volume/csi/v", {}), '["csi-read-volume"]'),
        (Request("PUT", "var/nomad/jobs/x", {}), 'variables { path "nomad/jobs/x" { capabilities = ["write"] } }'),
        (Request("DELETE", "var/nomad%2Fjobs%2Fx", {}), 'path "nomad/jobs/x" { capabilities = ["destroy"] }'),
        (Request("PUT", "acl/policy/x", {}), "this needs a management token"),
    ],
)
def test_a_refused_request_names_what_it_needs(request_: Any, line: str) -> None:
    assert line in remedy(request_, token_is_known=True)


def test_no_token_and_an_unknown_one_are_not_taken_for_a_missing_capability() -> None:
    asked = Request("GET", "nodes", {})
    assert "no token was sent" in remedy(asked, token_is_known=None)
    assert "is not known to this cluster" in remedy(asked, token_is_known=False)
