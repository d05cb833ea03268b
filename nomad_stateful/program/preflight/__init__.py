"""What is checked against AWS, Nomad and the state before the first resource is planned."""
