job     = { id = "volume-metrics", namespace = "default", datacenters = ["*"], node_pool = "default" }
task    = { image = "prom/node-exporter:v1.9.1", cpu_mhz = 50, memory_mib = 64 }
service = { port = 0, provider = "nomad" }
