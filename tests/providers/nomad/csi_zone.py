"""Where the test CSI plugin's node says it is."""

ZONE = {"topology.example.test/zone": "zone-a"}
