#!/bin/sh
# Installs Debian's packages over a root file system, in a layer of its own, and runs the script on standard input there.
# Usage: unshare --mount --pid --fork layer.sh BASE LAYER PACKAGE...   (LAYER.work and LAYER.root are made beside it)
set -eu
umask 022
base=$1 layer=$2
shift 2

mkdir -p "$layer" "$layer.work" "$layer.root"
mount -t overlay layer -o "lowerdir=$base,upperdir=$layer,workdir=$layer.work" "$layer.root"
cd "$layer.root"
mount -t proc proc proc
mount -t tmpfs tmpfs dev
for node in null zero full random urandom; do
  : >"dev/$node"
  mount --bind "/dev/$node" "dev/$node"
done
mount -t tmpfs tmpfs tmp

# As the machine reaches its mirrors: proxies, certificates, how old a list may be.
apt-config dump Acquire >tmp/machine
mount --bind tmp/machine etc/apt/apt.conf.d/00machine 2>/dev/null || cp tmp/machine etc/apt/apt.conf.d/00machine
cp -L /etc/resolv.conf etc/resolv.conf

if [ $# -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  chroot . apt-get update -qq
  chroot . apt-get install -qq -y --no-install-recommends "$@"
fi
chroot . /bin/sh -eu

umount etc/apt/apt.conf.d/00machine 2>/dev/null || true
rm -rf etc/apt/apt.conf.d/00machine etc/resolv.conf var/lib/apt/lists/* var/cache/apt/* var/log/* var/cache/debconf/*-old \
  usr/share/doc/* usr/share/man/* usr/share/info/*
chroot . dpkg-query --show >"$layer.packages"
