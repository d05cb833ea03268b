"""EC2's part of the driver: volumes, attachments, snapshots. It knows nothing of CSI."""
