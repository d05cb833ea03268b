"""MySQL's job files on real servers, without a cluster: the tasks' own scripts in a root folder of their own."""
