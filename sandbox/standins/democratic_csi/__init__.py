"""A stand-in for democratic-csi with NFS: the same command line, driver configuration, volume context and names."""
