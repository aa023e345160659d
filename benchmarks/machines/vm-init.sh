#!/bin/sh
# The first process of a virtual machine: what an init must do, then the steps, then power off.
# Each line of /vm/steps is a user and a command; its output and a line of JSON are left in /vm.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb

mount -o remount,rw /
for kind in proc sysfs:sys devtmpfs:dev; do
  mountpoint -q "/${kind#*:}" || mount -t "${kind%:*}" none "/${kind#*:}"
done
mkdir -p /dev/pts /dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mountpoint -q /run || mount -t tmpfs -o mode=755 tmpfs /run
hostname fresh
ip link set lo up

number=0
while read -r user command <&3; do
  number=$((number + 1))
  echo "=== $number: $user: $command"
  read -r started rest </proc/uptime
  home=$(getent passwd "$user" | cut -d: -f6)
  ( cd "$home/metronome" && exec setpriv --reuid "$user" --regid "$user" --init-groups \
    env HOME="$home" USER="$user" METRONOME_VENV=/root/metronome/.venv \
    setsid timeout -k 30 "$(cat /vm/patience)" sh -c "$command" ) >"/vm/$number.log" 2>&1 </dev/null
  code=$?
  read -r ended rest </proc/uptime
  tail -n 25 "/vm/$number.log"
  echo "=== $number: exit $code, from $started to $ended"
  echo "{\"user\": \"$user\", \"code\": $code, \"started\": $started, \"ended\": $ended}" >>/vm/ended
done 3</vm/steps

sync
mount -o remount,ro /
echo o >/proc/sysrq-trigger
sleep 60
