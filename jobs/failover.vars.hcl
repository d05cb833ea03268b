job     = { id = "failover", namespace = "default", datacenters = ["*"], node_pool = "default" }
volumes = ["mysql"]
aws     = { region = "us-west-2", account_id = "" }
watch   = { count = 2, fence = false }

task = {
  image      = "111122223333.dkr.ecr.us-west-2.amazonaws.com/nomad-stateful-agent:0.3.0"
  cpu_mhz    = 50
  memory_mib = 128
}

health = { deadline = "200s", progress_deadline = "300s" }
