"""The sandbox's Nomad cluster: one server on the gateway or one a zone, a client in every instance, ACLs on."""
