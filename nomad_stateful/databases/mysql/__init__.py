"""MySQL: its sets of GTIDs and its binary logs."""
