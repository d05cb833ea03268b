job     = { id = "volume-metrics", namespace = "default", datacenters = ["*"], node_pool = "default" }
task    = { driver = "docker", image = "prom/node-exporter:v1.9.1", command = "", cpu_mhz = 50, memory_mib = 64 }
service = { port = 0, provider = "nomad" }
