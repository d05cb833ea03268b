"""The machines: instances as namespaces, with their metadata service, devices, disks and network."""
