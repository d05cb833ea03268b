"""A volume's change of zone: planned (`move`), or since its zone is lost (`failover`)."""
