#!/bin/sh
# guest_root.sh PROGRAM [ARG...] -- runs PROGRAM in this mount namespace, which must be its own,
# on a root directory like a guest's: this machine's files, changes to which go away with the
# namespace, the folders that the permission sets name, made where this machine lacks them, and
# the agent's scripts in /usr/lib/denvd. /tmp and /run stay this machine's own, so that a test
# outside shares them.
set -eu
scripts=$(cd "$(dirname "$0")/../../rootfs" && pwd)

mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
new=/mnt/root

# An overlay shows the files of one mount: the others are bound, a parent before its children.
for shared in /tmp /run; do
  mountpoint -q "$shared" || mount --bind "$shared" "$new$shared"
done
while read -r _ at _; do
  case $at in / | /mnt | /mnt/*) continue ;; esac
  [ ! -e "$new$at" ] || mount --bind "$at" "$new$at" 2>/dev/null || true
done </proc/self/mounts

for folder in workspace code app srv opt mnt data media boot; do
  mkdir -p "$new/$folder"
done
mkdir -p "$new/usr/lib/denvd"
cp -R "$scripts/." "$new/usr/lib/denvd"

cd "$new"
pivot_root . .
umount -l .
cd /
exec "$@"
