"""A volume's change of zone with a writer running, killed at several points and run again."""
