#!/bin/sh
# Waits until EC2 says that this instance is about to be taken away, and then has Nomad's client leave: it drains, and so
# lets go of its volumes. Runs as a service on each client (let-go.service). Needs curl.
#
#   STOP        what stops the client; it has to wait until the client has ended
#   REBALANCE   yes: leave on a rebalance recommendation too, which may come long before an interruption, or without one
#   EVERY_S     seconds between two looks; EC2 advises 5, and gives a spot instance two minutes
set -u
STOP=${STOP:-systemctl stop nomad}
REBALANCE=${REBALANCE:-no}
EVERY_S=${EVERY_S:-5}
imds=http://169.254.169.254/latest

# The metadata at a path; fails where there is none.
meta() {
  curl -fs -m 2 -H "X-aws-ec2-metadata-token: $token" "$imds/meta-data/$1"
}

# Why the instance is taken away; fails while it is not.
notice() {
  token=$(curl -fsS -m 2 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$imds/api/token") || return 1
  action=$(meta spot/instance-action) && echo "spot interruption: $action" && return
  [ "$(meta autoscaling/target-lifecycle-state)" = Terminated ] && echo "the autoscaling group replaces it" && return
  [ "$REBALANCE" = yes ] && meta events/recommendations/rebalance
}

until why=$(notice); do
  sleep "$EVERY_S"
done
echo "$why: Nomad's client leaves" >&2
$STOP
echo "Nomad's client has left" >&2
