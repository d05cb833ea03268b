"""How the wheel is built: one package, nomad_stateful, out of several folders."""
