"""The command `drain`: consumers leave a client first, their volumes are seen detached, plugins stop last."""
