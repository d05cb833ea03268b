"""Tags by which the program finds its EBS volumes and snapshots again."""

GUARD_TAG = "nomad-stateful-guard"
"""Value: id of the volume's VolumeGuard."""
STACK_TAG = "nomad-stateful-stack"
"""Value: PROJECT/STACK."""
FINAL_TAG = "nomad-stateful-final-snapshot-of"
"""Value: id of the volume that the snapshot was taken of before its deletion."""
