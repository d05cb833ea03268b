"""EC2's volumes and snapshots."""
