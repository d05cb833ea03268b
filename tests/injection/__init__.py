"""Values of the configuration are data: none becomes HCL, a shell's words, SQL, or another option."""
