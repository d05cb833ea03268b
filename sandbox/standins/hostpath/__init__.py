"""A stand-in for hostpathplugin of csi-driver-host-path: volumes are folders of one client."""
