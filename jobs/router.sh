#!/bin/sh
# HAProxy of a replication group's router: sh router.sh start; sh router.sh changed, once its file was written anew.
# A member that restarts leaves Nomad's services and comes back to its address. HAProxy keeps it, and checks it as the
# others: it reads the file again only for a line that it lacks, since it ends all sessions then, after hard-stop-after.
# Nomad may list a member twice at one address: HAProxy refuses two servers of one name.
set -u
written=$NOMAD_TASK_DIR/haproxy.cfg
running=$NOMAD_TASK_DIR/running.cfg

case "$1" in
start)
  uniq "$written" >"$running" && exec haproxy -W -db -f "$running"
  ;;
changed)
  grep -q -v -x -F -f "$running" "$written"
  [ $? != 1 ] || exit 0
  uniq "$written" >"$running" && kill -USR2 1
  ;;
esac
