"""What the CSI drivers have in common: command line, socket, log, errors, mounts, and volumes that are folders."""
