"""Flags of aws-ebs-csi-driver by role: a role does not start with a flag that it does not know.

As `controller --help` and `node --help` of v1.48.0 list them.
"""

from nomad_stateful.drivers.model import Version


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KNOWN_UP_TO: Version = (1, 48, 0)
"""The newest version whose flags these are; later ones may know more."""

COMMON = _words(
    "enable-otel-tracing endpoint http-endpoint kubeconfig log-flush-frequency log-json-info-buffer-size "
    "log-json-split-stream log-text-info-buffer-size log-text-split-stream logging-format logtostderr "
    "metadata-sources metrics-cert-file metrics-key-file v version vmodule"
)
CONTROLLER_ONLY = _words(
    "aws-sdk-debug-log batching deprecated-metrics extra-tags extra-volume-tags k8s-tag-cluster-id "
    "modify-volume-request-handler-timeout user-agent-extra warn-on-invalid-tag"
)
NODE_ONLY = _words(
    "csi-mount-point-prefix legacy-xfs reserved-volume-attachments volume-attach-limit windows-host-process"
)
SWITCHES = _words(
    "aws-sdk-debug-log batching deprecated-metrics enable-otel-tracing legacy-xfs log-json-split-stream "
    "log-text-split-stream warn-on-invalid-tag windows-host-process"
)
"""Boolean flags, true without a value; every other flag needs one."""
DURATIONS = frozenset({"log-flush-frequency", "modify-volume-request-handler-timeout"})
OWN_FLAGS = {
    "endpoint": "endpoint",
    "extra-tags": "extraTags",
    "extra-volume-tags": "extraTags",
    "reserved-volume-attachments": "reservedVolumeAttachments",
    "v": "logLevel",
    "volume-attach-limit": "volumeAttachLimit",
    "help": "",
    "logtostderr": "",
    "metadata-sources": "",
    "version": "",
}
"""Flags that the program sets, or that make the driver exit; with the setting that decides each, if any."""


def flag_of(argument: str) -> str:
    """Returns the flag's name in ``--name=value``."""
    return argument.removeprefix("--").partition("=")[0]


def for_role(arguments: tuple[str, ...], others: frozenset[str]) -> list[str]:
    """Returns the arguments without those that only the other role knows."""
    return [argument for argument in arguments if flag_of(argument) not in others]
