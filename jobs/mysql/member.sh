#!/bin/sh
# Parent of the server of a replication group's member: sh member.sh sh start.sh ARGUMENTS.
# A server has to hand over its role before SIGTERM reaches it, and one that a clone has stopped expects a parent that
# starts it again: https://dev.mysql.com/doc/refman/9.7/en/clone-plugin-remote.html
# Some of it runs by a trap alone; START_SOCKET and the folders are the task's environment.
# shellcheck disable=SC2154,SC2317,SC2329
set -u
say() { echo "member: $*" >&2; }

handover_s=10
# The agent's order to end a server that hangs on its disk, and what it sees of one that is about to stop.
order=${START_SOCKET%/*}/kill
leaving=${START_SOCKET%/*}/leaving
child=
watcher=
ending=
interrupted=
status=143
export MYSQLD_PARENT_PID=$$

ask() {
  timeout "$1" mysql "--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf" --connect-timeout=2 --batch \
    --skip-column-names --execute "$2" 2>&1
}

# A group whose members' versions differ takes only one of the lowest version as its primary.
successor() {
  ask 3 "SELECT other.member_id
    FROM performance_schema.replication_group_members me
    JOIN performance_schema.replication_group_members other ON other.member_id <> me.member_id
    JOIN performance_schema.replication_group_member_stats behind ON behind.member_id = other.member_id
    WHERE me.member_id = @@server_uuid AND me.member_state = 'ONLINE' AND me.member_role = 'PRIMARY'
      AND other.member_state = 'ONLINE'
    ORDER BY INET_ATON(other.member_version), behind.count_transactions_remote_in_applier_queue LIMIT 1"
}

# Whatever comes of it, the server is stopped afterwards: then the others elect.
hand_over() {
  tries=3
  # All its connections may be taken just then.
  until to=$(successor); do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || { say "does not hand over: its server cannot be asked: $to" && return; }
    sleep 0.3
  done
  case "$to" in
  ????????-????-????-????-????????????) ;;
  *) say "has no role to hand over${to:+: $to}" && return ;;
  esac
  # Transactions that run get half of the time.
  if said=$(ask "$handover_s" "SELECT group_replication_set_as_primary('$to', $((handover_s / 2)))"); then
    say "handed over to $to"
  else
    say "did not hand over to $to: ${said:-no answer within $handover_s s}"
  fi
}

end() {
  interrupted=1
  [ -z "$ending" ] || return
  ending=1
  [ -n "$child" ] || return
  hand_over
  # Routers ask the agent twice a second. A server that stops takes no session, and keeps who asks for one waiting.
  touch "$leaving"
  sleep 1
  kill -TERM "$child" 2>/dev/null
}
trap end TERM INT

# The option is for the server itself: a data directory cannot be made with it. What a first start does is no transaction
# of the member's own: with one it could not join.
folder=$NOMAD_TASK_DIR/member
server=$(command -v mysqld) || { say "there is no mysqld here: set mysql.image to an image of MySQL" && exit 1; }
mkdir -p "$folder"
touch "$folder/hosts"
cat >"$folder/mysqld" <<END
#!/bin/sh
for argument in "\$@"; do
  case "\$argument" in
  --version | -V | --help | '-?') exec "$server" "\$@" ;;
  --initialize* | --skip-networking* | --datadir=*/first-start) exec "$server" "\$@" --skip-log-bin ;;
  esac
done
exec "$server" "\$@" --super-read-only=ON
END
chmod 755 "$folder" "$folder/mysqld"
PATH=$folder:$PATH

# Docker's own file with the members' names below. It is a mount, so it is written in place, by one write. A member whose
# service is gone keeps its address: for a name without one the server asks DNS, and commits nothing meanwhile.
first=$(sed '/^# members of the group$/,$d' /etc/hosts)
newline='
'
write_hosts() {
  [ -e "$NOMAD_TASK_DIR/hosts" ] || return 0
  names=$(cat "$NOMAD_TASK_DIR/hosts")
  while read -r address name; do
    case "$names$newline" in
    *" $name$newline"*) ;;
    *) names=${names:+$names$newline}"$address $name" ;;
    esac
  done <"$folder/hosts"
  wanted=$(printf '%s\n# members of the group\n%s' "$first" "$names")
  [ "$wanted" != "$(cat /etc/hosts)" ] || return 0
  printf '%s\n' "$names" >"$folder/hosts"
  printf '%s\n' "$wanted" >/etc/hosts
}

watch() {
  trap - TERM INT
  while sleep 1; do
    write_hosts
    [ ! -e "$order" ] || kill -KILL "$1"
  done
}

write_hosts
rm -f "$order" "$leaving"
while [ -z "$ending" ]; do
  "$@" &
  child=$!
  [ -z "$ending" ] || kill -TERM "$child" 2>/dev/null
  watch "$child" &
  watcher=$!
  # A signal ends the wait, and not the child. Once its status was told it is unknown (127).
  interrupted=1
  while [ -n "$interrupted" ]; do
    interrupted=
    wait "$child"
    told=$?
    [ "$told" = 127 ] || status=$told
  done
  child=
  kill "$watcher" 2>/dev/null
  ordered=$(cat "$order" 2>/dev/null)
  [ -z "$ordered" ] || say "ended the server: $ordered"
  rm -f "$order"
  case "$status $ordered" in
  "16 "* | *" start again: "*) say "starts the server again" ;;
  *) break ;;
  esac
done
exit "$status"
