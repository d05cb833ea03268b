"""What stands in where an official part cannot be had: CSI drivers, provider plugins, a file server, MySQL."""
