"""The policy pack: rules that guard data, checked by `pulumi preview|up --policy-pack policy`."""
