#!/bin/sh
# guest_root.sh PROGRAM [ARG...] -- runs PROGRAM in this mount namespace, which must be its own,
# on a root directory like a guest's: this machine's files, changes to which go away with the
# namespace, the folders that the permission sets name, made where this machine lacks them, and
# the agent's scripts in /usr/lib/denvd. The clock is this machine's too, there is but one: nobody
# in here may set it.
#
# With DENVD_SCRATCH, a folder in /var/tmp, that folder is shared, and /tmp is its folder `tmp`:
# on a real file system, which the tests as a whole need, and still nobody else's.
set -eu
here=$PWD
scripts=$(cd "$(dirname "$0")/../../rootfs" && pwd)

mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/root
new=/mnt/root

over() { # over LOWER NAME TARGET
  mkdir "/mnt/$2.upper" "/mnt/$2.work"
  mount -t overlay -o "lowerdir=$1,upperdir=/mnt/$2.upper,workdir=/mnt/$2.work" overlay "$3"
}
over / root "$new"
over /run run "$new/run"
if [ -n "${DENVD_SCRATCH-}" ]; then
  mkdir -p -m 1777 "$DENVD_SCRATCH/tmp"
  mount --bind "$DENVD_SCRATCH" "$new$DENVD_SCRATCH"
  mount --bind "$DENVD_SCRATCH/tmp" "$new/tmp"
else
  over /tmp tmp "$new/tmp"
fi

# An overlay shows the files of one mount: the others are bound, a parent before its children.
while read -r _ at _; do
  case $at in / | /mnt | /mnt/* | /run | /tmp) continue ;; esac
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
