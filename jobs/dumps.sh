#!/bin/sh
# Names of dumps, before the scripts that dump and restore. A name is the time at which Nomad launched its run, by Nomad's
# clock: a client's may be wrong. (nomad_stateful/databases/dumps.py for the agent.)
# It also finds the dump that a restore is dispatched for, and has each dispatch begin once.
# test compares texts with > in dash and bash; what grep lets through has no blanks.
# shellcheck disable=SC3012,SC2010,SC2012

# With the ending $1, as 20260101T030000Z.sql.gz.
dump_name() {
  launched=$(printf '%s\n' "${NOMAD_JOB_ID:-}" | sed -n 's#.*/periodic-\([0-9]*\)$#\1#p; s#.*/dispatch-\([0-9]*\)-.*#\1#p')
  date -u -d "@${launched:-$(date +%s)}" "+%Y%m%dT%H%M%SZ.$1"
}

# Those in the folder $2, the oldest first, but none of a later name than $1: clocks of clients have named them, in earlier
# releases.
dumps_until() {
  ls -1 "$2" | grep -E '^[0-9]+T[0-9]+Z[.](sql[.]gz|tar)$' | sort | while read -r one; do
    [ "$one" \> "$1" ] || echo "$one"
  done
}

# Goes to the folder of the dump NOMAD_META_dump, whose name becomes $name; the stack's section is $1, the ending of names $2.
find_dump() {
  cd "$DUMPS" || exit
  case "${NOMAD_META_from:-volume}" in
  volume) ;;
  s3)
    # The task before has put the dump there, and nothing else.
    [ -d .fetched ] || { echo "nothing was fetched from S3: $1.backup.s3 is not set" >&2; exit 1; }
    cd .fetched || exit
    ;;
  *) echo "from is $NOMAD_META_from, and must be volume or s3" >&2; exit 1 ;;
  esac
  name=${NOMAD_META_dump:-}
  [ "$name" != latest ] || name=$(dumps_until "$(dump_name "$2")" . | tail -n 1)
  case "$name" in
  '' | .* | -* | */*) known=no ;;
  *) [ -f "$name" ] && known=yes || known=no ;;
  esac
  [ "$known" = yes ] || { echo "there is no dump ${NOMAD_META_dump:-}; these are there: $(ls | tr '\n' ' ')" >&2; exit 1; }
  begin_once
}

# Nomad runs a dispatch again whose client was lost or whose allocation was stopped, maybe hours later: what was written
# since would be lost. A drill's job is not dispatched.
begin_once() {
  case "${NOMAD_JOB_ID:-}" in */dispatch-*) ;; *) return 0 ;; esac
  ! grep -qxF -e "$NOMAD_JOB_ID" "$DUMPS/.begun" 2>/dev/null || {
    echo "$NOMAD_JOB_ID has begun before, and was lost with its client or stopped: it does not begin again." \
      "Dispatch another" >&2
    exit 1
  }
  { echo "$NOMAD_JOB_ID" >>"$DUMPS/.begun" && sync "$DUMPS/.begun" "$DUMPS"; } || {
    echo "$NOMAD_JOB_ID cannot be noted on the dumps' volume (why is above): nothing is changed. Enlarge a full one by" \
      "sizeGib, and restore again" >&2
    exit 1
  }
}
