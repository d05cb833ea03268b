"""CSI drivers as data: a module with a ``DRIVER`` adds one."""
