"""What an operator does besides `pulumi up` and `pulumi destroy`."""
