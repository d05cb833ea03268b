"""The command `upgrade-driver`: another version of a CSI driver, client by client."""
