"""Where in S3 a command works."""

import argparse


def place_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds where in S3 a command works; the endpoint and credentials are read from the environment, as boto3 does."""
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--prefix", default="", help="the stack's in the bucket, ending in a slash")
