"""PostgreSQL's job files on real servers, without a cluster, as those of MySQL in tests/mysql."""
