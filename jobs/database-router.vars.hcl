job     = { id = "mysql-server-router", namespace = "default", datacenters = ["*"], node_pool = "default" }
task    = { image = "haproxy:3.2.9", cpu_mhz = 50, memory_mib = 64 }
service = { name = "mysql-server", port = 3306, read_port = 3307, provider = "nomad" }
health  = { deadline = "300s", progress_deadline = "360s" }
members = { names = ["mysql-server-1", "mysql-server-2", "mysql-server-3"], agent_port = 13307, max_lag_s = 10 }
