job     = { id = "volume-metrics", namespace = "default", datacenters = ["*"], node_pool = "default" }
task    = { driver = "raw_exec", image = "", command = "prometheus-node-exporter", cpu_mhz = 50, memory_mib = 64 }
service = { port = 0, provider = "nomad" }
