"""The sandbox's Nomad cluster: one server on the gateway, a client in every instance, ACLs on."""
