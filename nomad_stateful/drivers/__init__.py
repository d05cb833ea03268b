"""What is known about each CSI driver, as data: adding a driver is adding a file here."""
