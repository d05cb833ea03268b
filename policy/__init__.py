"""The policy pack: rules that protect data, checked by `pulumi preview|up --policy-pack policy`."""
