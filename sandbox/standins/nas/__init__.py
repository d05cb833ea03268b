"""A file server beside the instances: ZFS datasets and NFS shares that are folders of the machine, reached by ssh."""
