#!/bin/sh
# First thing an instance runs, as process 1 of its namespaces: gives it a private /dev, /run, /mnt and a few files of
# /etc, waits until the hypervisor has plugged in network and disks, and hands over to the init.
# Usage: firmware.sh INSTANCE_DIR HOSTNAME CONTROL_GROUP READY_FD COMMAND...    (the hypervisor answers on stdin)
set -eu
umask 022
instance=$1 host=$2 group=$3 ready=$4
shift 4

hostname "$host"

# An own /dev, so that the instance sees the volumes attached to it and no other disk of the machine.
dev=$instance/dev
mkdir -p "$dev"
mount -t tmpfs -o mode=0755,size=1m instance-dev "$dev"
mkdir -p "$dev/disk/by-id" "$dev/pts" "$dev/shm" "$dev/mqueue" "$dev/net"
for node in null zero full random urandom tty kmsg fuse net/tun; do
  if [ -c "/dev/$node" ]; then cp -a "/dev/$node" "$dev/$node"; fi
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$dev/pts"
mount -t tmpfs -o mode=1777,nosuid,nodev shm "$dev/shm"
mount -t mqueue mqueue "$dev/mqueue" 2>/dev/null || rmdir "$dev/mqueue"
ln -s pts/ptmx "$dev/ptmx"
ln -s /proc/self/fd "$dev/fd"
ln -s /proc/self/fd/0 "$dev/stdin"
ln -s /proc/self/fd/1 "$dev/stdout"
ln -s /proc/self/fd/2 "$dev/stderr"
umount --recursive --lazy /dev
mount --move "$dev" /dev

# Of the machine's control groups the instance sees its own, as their roots.
groups=$instance/cgroup
mkdir -p "$groups"
if [ -f /sys/fs/cgroup/cgroup.procs ]; then
  mount --bind "/sys/fs/cgroup/$group" "$groups"
else
  mount -t tmpfs -o mode=0755,size=1m instance-cgroup "$groups"
  for tree in /sys/fs/cgroup/*; do
    here=$groups/${tree##*/}
    if [ -L "$tree" ]; then
      cp -a "$tree" "$here"
    elif [ -d "$tree/$group" ]; then
      mkdir "$here"
      mount --bind "$tree/$group" "$here"
    fi
  done
fi
umount --recursive --lazy /sys/fs/cgroup
mount --move "$groups" /sys/fs/cgroup
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  # shellcheck disable=SC2013 # words without blanks
  for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
  done
fi

# The machine's daemons (Docker's socket among them) are not the instance's.
mount -t tmpfs -o mode=0755,nosuid,nodev instance-run /run
mkdir -p /run/lock
for file in "$instance"/etc/*; do
  target=/etc/${file##*/}
  if [ -e "$target" ]; then mount --bind "$file" "$target"; fi
done
mount --bind "$instance/disk" /mnt

# Clients of network file systems lie over the machine's own programs: mount(8) looks for its helpers here only.
sbin=$(readlink -f /sbin)
mount -t overlay instance-sbin -o "lowerdir=$instance/sbin:$sbin" "$sbin" ||
  echo "no overlay file systems on this machine: EFS and NFS cannot be mounted" >&2

# CSI drivers mount in one place and expect the mount to be seen in all others.
mount --make-rshared /

if [ -w /proc/sys/net/ipv6/conf/default/disable_ipv6 ]; then
  echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
  echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
fi
ip link set lo up

echo ready >"/proc/self/fd/$ready"
read -r answer
[ "$answer" = boot ]
cd /
exec "$@" </dev/null
