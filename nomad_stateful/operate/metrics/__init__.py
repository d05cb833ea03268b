"""What Nomad, EC2 and the stack know and no exporter has, as metrics for Prometheus."""
