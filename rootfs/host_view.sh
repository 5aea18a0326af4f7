#!/bin/sh
# host_view.sh RUN_DIR PID CGROUP -- shows process PID what its permissions keep from it:
#
#   RUN_DIR/fd      the descriptors of PID (bind mount of /proc/PID/fd)
#   RUN_DIR/host/*  single pseudo files, read-only bind mounts, only those that the agent reads
#   RUN_DIR/cgroup  the cgroup2 folder CGROUP, made when missing; none when CGROUP is `-`
#   RUN_DIR-cgroups the folder above CGROUP, where RUN_DIR-cgroups exists
#
# PID then execs the agent, so RUN_DIR/fd names the agent's own descriptors. Both go with the
# mount namespace, or are made anew at the next start. What can't be shown is left out; the
# agent says what is off without it. Never a whole second procfs: <mount>/self/root would lead
# out of every path scope.
set -u
run=$1 pid=$2 cgroup=$3
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH

# A former agent's views are stale: they show a process that is gone, and nothing can be made
# below them before they go. Starts that were cut short may have left more than one.
unmount() { # unmount PLACE
  for _ in 1 2 3; do umount "$1" 2>/dev/null || return 0; done
}
unmount "$run/fd"

mkdir -p "$run/fd" "$run/host" || exit 1
chmod 755 "$run" "$run/host" || exit 1
mount --bind "/proc/$pid/fd" "$run/fd" || echo "host_view: cannot show descriptors" >&2

show() { # show NAME SOURCE
  [ -r "$2" ] || return 0
  unmount "$run/host/$1"
  : >"$run/host/$1" || return 0
  { mount --bind "$2" "$run/host/$1" && mount -o remount,bind,ro "$run/host/$1"; } 2>/dev/null ||
    rm -f "$run/host/$1"
}

# Through PID, not through /proc/self: the port table is that of the agent's network namespace.
show net_tcp "/proc/$pid/net/tcp"
show net_tcp6 "/proc/$pid/net/tcp6"
show mountinfo "/proc/$pid/mountinfo"
show self_cgroup "/proc/$pid/cgroup"
show stat /proc/stat
show meminfo /proc/meminfo
show rtc_since_epoch "${DENVD_RTC:-/sys/class/rtc/rtc0/since_epoch}"
# Mainline kernels show no generation id to user space; a guest whose kernel does names the file.
show vmgenid "${DENVD_VMGENID:-/none}"

[ "$cgroup" != - ] || exit 0
unmount "$run/cgroup"
# In a folder of another kind mkdir would make plain folders.
[ -e "${cgroup%/*}/cgroup.controllers" ] || {
  echo "host_view: ${cgroup%/*} is no cgroup2 folder: processes are placed in no group" >&2
  exit 0
}
mkdir -p "$cgroup" "$run/cgroup" || exit 0
# One by one: a controller that is not there would spoil the whole line.
for folder in "${cgroup%/*}" "$cgroup"; do
  for controller in cpu memory io pids; do
    { echo "+$controller" >"$folder/cgroup.subtree_control"; } 2>/dev/null
  done
done
mount --bind "$cgroup" "$run/cgroup" || rmdir "$run/cgroup"
# Who wants /freeze?mode=hierarchy makes this folder, and grants it.
[ ! -d "$run-cgroups" ] || mount --bind "${cgroup%/*}" "$run-cgroups"
exit 0
