#!/bin/sh
# guest_root.sh PROGRAM [ARG...] -- runs PROGRAM in this mount namespace, which must be its own,
# on a root directory like a guest's: this machine's files, changes to which go away with the
# namespace, the folders that the permission sets name, made where this machine lacks them, and
# the agent's scripts in /usr/lib/denvd. /tmp stays this machine's own, so that a test outside
# shares it. The clock is this machine's too, there is but one: nobody in here may set it.
set -eu
here=$PWD
scripts=$(cd "$(dirname "$0")/../../rootfs" && pwd)

mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/root /mnt/root.upper /mnt/root.work /mnt/run.upper /mnt/run.work
new=/mnt/root

over() { # over LOWER NAME TARGET
  mount -t overlay -o "lowerdir=$1,upperdir=/mnt/$2.upper,workdir=/mnt/$2.work" overlay "$3"
}
over / root "$new"
over /run run "$new/run"

# An overlay shows the files of one mount: the others are bound, a parent before its children.
mountpoint -q /tmp || mount --bind /tmp "$new/tmp"
while read -r _ at _; do
  case $at in / | /mnt | /mnt/* | /run) continue ;; esac
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
cd "$here"
exec setpriv --bounding-set -sys_time -- "$@"
