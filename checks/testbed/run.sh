#!/usr/bin/env bash
# run.sh PROGRAMS
#   Boots a real systemd (257, of Debian trixie) in a container, with the golden units of
#   checks/golden/two-users and the programs in the directory PROGRAMS (agent-box, agent-box-pane,
#   agent-box-webhook-spawn, stub-agent), and runs inside.sh there. Prints what that printed; exits as it did.
#
#   Needs root, Linux, and a Debian mirror for the first run (about a minute); later runs take
#   seconds. TESTBED_ROOT is where the system is kept (default: below target/testbed).
#   Containers do not enforce limits and OOM scores; the rest of a unit is real there.
set -euo pipefail
[ $# = 1 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
programs=$(readlink -f "$1")
cd "$(dirname "$0")"
packages=systemd,systemd-sysv,dbus,libpam-systemd,tmux,procps,sudo,jq,openssl,curl,caddy,iproute2
root=${TESTBED_ROOT:-$(readlink -f ../..)/target/testbed/root-$(sha256sum <<< "$packages" | cut -c1-8)}
for program in agent-box agent-box-pane agent-box-webhook-spawn stub-agent; do
  [ -x "$programs/$program" ] || { echo "run.sh: $programs/$program is missing; build it first" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "run.sh: a container needs root" >&2; exit 2; }

if ! command -v systemd-nspawn > /dev/null || ! command -v mmdebstrap > /dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends systemd-container mmdebstrap debian-archive-keyring > /dev/null
fi
if [ ! -e "$root" ]; then
  mkdir -p "$(dirname "$root")"
  rm -rf "$root.new"
  mmdebstrap --quiet --mode=root --variant=minbase \
    --include="$packages" trixie "$root.new"
  : > "$root.new/etc/machine-id"
  mv "$root.new" "$root"
fi

run=$(mktemp -d /var/tmp/testbed.XXXXXX)
groups=()
finish() {
  # By the container's own group: nobody else is in it.
  for group in "${groups[@]}"; do
    while read -r process; do kill -KILL "$process" 2> /dev/null || true; done \
      < <(find "$group" -name cgroup.procs -exec cat {} + 2> /dev/null)
  done
  for group in "${groups[@]}"; do
    for _ in $(seq 50); do
      find "$group" -depth -type d -exec rmdir {} \; 2> /dev/null || true
      [ -d "$group" ] || break
      sleep 0.1
    done
  done
  rm -rf "$run"
}
trap finish EXIT
mkdir "$run/testbed" "$run/out"
cp -r inside.sh lib.sh update.sh webhook.sh spot.sh ../golden "$run/testbed/"
cp -L "$programs"/{agent-box,agent-box-pane,agent-box-webhook-spawn,stub-agent} "$run/testbed/"
cat > "$run/testbed.service" <<'UNIT'
[Unit]
Description=What the testbed runs
[Service]
Type=oneshot
ExecStart=/testbed/inside.sh
ExecStopPost=/bin/sh -c 'echo $EXIT_STATUS > /out/status; systemctl poweroff --no-block 2> /dev/null'
StandardOutput=append:/out/log
StandardError=append:/out/log
TimeoutStartSec=240
UNIT

# Without systemd on the host, the container gets a group of its own below ours in the hierarchies
# that systemd uses.
register=()
if [ ! -d /run/systemd/system ]; then
  register=(--register=no --keep-unit)
  while IFS=: read -r id name path; do
    if [ "$name" = name=systemd ]; then mount=/sys/fs/cgroup/systemd
    elif [ "$id" = 0 ] && [ -d /sys/fs/cgroup/unified ]; then mount=/sys/fs/cgroup/unified
    elif [ "$id" = 0 ]; then mount=/sys/fs/cgroup
    else continue; fi
    groups+=("$mount${path%/}/testbed-$$")
  done < /proc/self/cgroup
  for group in "${groups[@]}"; do mkdir "$group"; done
fi
(
  for group in "${groups[@]}"; do echo "$BASHPID" > "$group/cgroup.procs"; done
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 SYSTEMD_NSPAWN_LOCK=0 exec timeout -k 10 300 \
    systemd-nspawn --quiet --boot "${register[@]}" --private-network --console=read-only \
    --machine="testbed-$$" --volatile=overlay --directory="$root" \
    --bind-ro="$run/testbed:/testbed" --bind="$run/out:/out" \
    --bind-ro="$run/testbed.service:/etc/systemd/system/testbed.service" \
    systemd.wants=testbed.service
) < /dev/null > "$run/console" 2>&1 || true

cat "$run/out/log" 2> /dev/null || cat "$run/console"
[ "$(cat "$run/out/status" 2> /dev/null)" = 0 ]
