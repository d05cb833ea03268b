#!/bin/sh
# Makes this client eligible again after a reboot: Nomad keeps a client that drained on shutdown ineligible, also when it is
# back. A client that somebody else drained, and that was not shut down since, stays drained. Needs NOMAD_ADDR, and a token that may write nodes (NOMAD_TOKEN, or a
# file named by TOKEN_FILE).
#
#   DATA_DIR    the agent's data_dir
set -u
DATA_DIR=${DATA_DIR:-/opt/nomad/data}
# A client that was never here has nothing to come back from.
[ -s "$DATA_DIR/client/client-id" ] || exit 0
node=$(cat "$DATA_DIR/client/client-id")
if [ -n "${TOKEN_FILE:-}" ]; then
  until [ -s "$TOKEN_FILE" ]; do sleep 1; done
  NOMAD_TOKEN=$(cat "$TOKEN_FILE")
  export NOMAD_TOKEN
fi
state='{{.Status}} {{.SchedulingEligibility}} {{with .LastDrain}}{{.Status}} {{.Meta.message}}{{end}}'

until said=$(nomad node status -t "$state" "$node") && [ "${said%% *}" = ready ]; do
  sleep 1
done
if [ "$said" = 'ready ineligible complete shutting down' ]; then
  nomad node eligibility -enable "$node"
fi
