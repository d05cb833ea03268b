#!/bin/sh
# Stands for the server that the entrypoint hands over to at the end of a first start.
[ "$1" != -C ] || exec "$START_SERVER" "$@"
