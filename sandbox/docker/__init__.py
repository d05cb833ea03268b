"""Docker in the sandbox: a daemon in each instance, and images that are built from Debian's packages."""
