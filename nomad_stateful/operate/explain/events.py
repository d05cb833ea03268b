"""What the events of an allocation tell of why its tasks do not run."""

import re
from collections.abc import Iterator

from nomad_stateful.operate.doctor.facts import Json
from nomad_stateful.operate.explain.reason import RUNBOOK, Reason, Scene

_HELD = f"{RUNBOOK}#what-holds-a-volume"
_UNHEALTHY = "docs/decisions/2026-11-22-unhealthy-controllers.md"

# Part of an event, why the allocation waits or ends by it, the next command, where to read more. The first one counts.
_EVENTS: tuple[tuple[str, str, str, str], ...] = (
    (
        r"max claims reached|claims? (is )?in use",
        "another allocation has the volume; the client asks again with backoff, after a minute at most",
        "nomad-stateful explain VOLUME",
        _HELD,
    ),
    (
        r"Could not resize volume",
        "the volume has grown and its client may not grow the mounted file system",
        "see the link: do not restart what runs",
        f"{RUNBOOK}#could-not-resize-volume",
    ),
    (
        r"Device path not provided",
        "Nomad granted the claim while a controller was unhealthy, and nothing was attached",
        "pulumi up",
        _UNHEALTHY,
    ),
    (
        r"already published|already attached|VolumeInUse|is attached to another",
        "EC2 has the volume attached to another instance, and one instance has it at a time",
        "nomad-stateful recover VOLUME",
        _HELD,
    ),
    (
        r"AttachmentLimitExceeded|attachment limit|maximum number of (volumes|attachments)",
        "the instance has as many volumes as its type allows",
        "nomad-stateful doctor (attach slots left)",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/volume_limits.html",
    ),
    (
        r"UnauthorizedOperation|AccessDenied|not authorized to perform",
        "the clients' role may not do what the driver asks EC2 for",
        "nomad-stateful doctor (IAM), then pulumi up --refresh",
        "docs/iam.md",
    ),
    (
        r"IMDS|NoCredentialProviders|failed to refresh cached credentials|EC2 metadata",
        "the driver reaches no metadata service: it is off, or its hop limit is below 2",
        "nomad-stateful doctor (metadata service)",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-options.html",
    ),
    (
        r"InvalidVolume\.NotFound|volume .*not found|VolumeNotFound",
        "EC2 has no such volume in the driver's account and region",
        "nomad-stateful status",
        "docs/volumes.md",
    ),
    (
        r"(plugin|driver) .*(not found|is not registered|does not exist)|volume mounter",
        "the node plugin does not run on that client yet, or not any more",
        "nomad plugin status -verbose",
        RUNBOOK,
    ),
    (
        r"wrong fs type|bad superblock|can't read superblock|unknown filesystem",
        "what is on the volume is not the file system that its registration names, or is damaged",
        "compare fsType in the settings; attach a copy from a snapshot to look at it, never mkfs",
        "docs/volumes.md",
    ),
    (
        r"Docker privileged mode is disabled|privileged",
        "the client's docker plugin allows no privileged containers",
        'plugin "docker" { config { allow_privileged = true } } on that client',
        "https://developer.hashicorp.com/nomad/docs/drivers/docker#plugin-options",
    ),
    (
        r"Failed to pull|pull access denied|manifest unknown|ImageNotFound",
        "the client cannot get the image",
        "check image and version in the settings, and the client's way to the registry",
        "https://developer.hashicorp.com/nomad/docs/drivers/docker#authentication",
    ),
    (
        r"Missing: nomad\.var|no secret exists|nomad\.var\.block",
        "the Nomad variable with its secrets is gone or may not be read",
        "pulumi up --refresh",
        "https://developer.hashicorp.com/nomad/docs/concepts/variables",
    ),
    (
        r"OOM Killed|out of memory",
        "it needs more memory than memoryMib gives it",
        "raise memoryMib, then pulumi up",
        "docs/consumers.md",
    ),
    (
        r"No space left on device|Disk full",
        "its volume or its client's disk is full",
        "raise sizeGib, then pulumi up",
        f"{RUNBOOK}#the-disk-is-full",
    ),
    (
        r"context deadline exceeded|DeadlineExceeded",
        "the driver or EC2 did not finish in time; Nomad tries again",
        "nomad plugin status -verbose",
        RUNBOOK,
    ),
)

_ENDS = {"Terminated", "Setup Failure", "Driver Failure"}


def reason(scene: Scene, allocation: Json) -> Reason | None:
    """Returns what an allocation's newest telling event means; None where it has had none."""
    for task, text in _told(allocation):
        for pattern, why, next_, link in _EVENTS:
            if re.search(pattern, text, re.IGNORECASE):
                what = (
                    f"allocation {allocation['ID'][:8]} on {allocation.get('NodeName') or 'its client'}, {task}: {text}"
                )
                return Reason(what, why, next_, link)
    return _ended(scene, allocation)


def _told(allocation: Json) -> Iterator[tuple[str, str]]:
    """Yields task and text of the events, the newest first; those about the allocation as a whole are each task's."""
    for task, state in (allocation.get("TaskStates") or {}).items():
        for event in reversed(state.get("Events") or []):
            yield f"task {task}", " ".join(str(event.get("DisplayMessage") or event.get("Type") or "").split())
    if allocation.get("ClientDescription"):
        yield "its client", str(allocation["ClientDescription"])


def _ended(scene: Scene, allocation: Json) -> Reason | None:
    """Returns how a task failed that no pattern tells of."""
    for task, state in (allocation.get("TaskStates") or {}).items():
        ends = [event for event in state.get("Events") or [] if event.get("Type") in _ENDS]
        if (state.get("Failed") or state.get("Restarts")) and ends:
            text = " ".join(str(ends[-1].get("DisplayMessage") or ends[-1]["Type"]).split())
            times = int(state.get("Restarts") or 0) + 1
            what = f"allocation {allocation['ID'][:8]}, task {task} failed {times} times, at last: {text}"
            next_ = f"nomad alloc logs -stderr{scene.scope} {allocation['ID'][:8]} {task}"
            return Reason(
                what, "Nomad restarts it, with growing pauses; its log says why it ends", next_, "docs/consumers.md"
            )
    return None


def name(allocation: Json) -> str:
    """Returns an allocation and the last that it told."""
    last = next((text for _, text in _told(allocation) if text), "")
    return f"{allocation['ID'][:8]}: {last}" if last else str(allocation["ID"][:8])
