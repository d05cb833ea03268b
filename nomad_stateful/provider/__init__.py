"""The nomad-csi Pulumi provider: the waits and the secret no official provider has."""
