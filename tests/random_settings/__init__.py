"""Settings at random: what is accepted, Nomad and AWS accept too; a refusal says key, value, rule and remedy."""
