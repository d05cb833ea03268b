"""A stand-in for aws-efs-csi-driver: the same command line and names, for file systems and access points that exist."""
