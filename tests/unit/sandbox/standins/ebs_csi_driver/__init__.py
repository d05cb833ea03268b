"""Unit tests of the EBS CSI driver."""
