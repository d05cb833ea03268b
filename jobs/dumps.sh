#!/bin/sh
# Names of dumps, before the scripts that dump and restore. A name is the time at which Nomad launched its run, by Nomad's
# clock: a client's may be wrong. (nomad_stateful/databases/dumps.py for the agent.)
# test compares texts with > in dash and bash; what grep lets through has no blanks.
# shellcheck disable=SC3012,SC2010

dump_name() {
  launched=$(printf '%s\n' "${NOMAD_JOB_ID:-}" | sed -n 's#.*/periodic-\([0-9]*\)$#\1#p; s#.*/dispatch-\([0-9]*\)-.*#\1#p')
  date -u -d "@${launched:-$(date +%s)}" +%Y%m%dT%H%M%SZ.sql.gz
}

# Those in the folder $2, the oldest first, but none of a later name than $1: clocks of clients have named them, in earlier
# releases.
dumps_until() {
  ls -1 "$2" | grep '^[0-9]*T[0-9]*Z[.]sql[.]gz$' | sort | while read -r one; do
    [ "$one" \> "$1" ] || echo "$one"
  done
}
