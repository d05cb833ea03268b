"""Stand-in for the official pulumi-resource-aws plugin: the few types and functions this project uses, over boto3."""
