#!/bin/sh
# The Pulumi engine starts this by its name, in the environment that it made of requirements.txt at the installation.
set -eu
here=$(CDPATH='' cd -P -- "$(dirname -- "$0")" && pwd -P)
exec "$here/venv/bin/python" -P -m nomad_stateful.provider "$@"
