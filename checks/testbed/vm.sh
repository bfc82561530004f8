#!/usr/bin/env bash
# vm.sh PROGRAMS
#   Boots a whole Debian trixie in qemu, with all control groups, twice: what containers cannot
#   show, which is limits, OOM scores and a reboot. Runs limits.sh at each boot; prints what that
#   printed, and exits as it did. PROGRAMS is as for run.sh.
#
#   Needs root, and a Debian mirror for the first run (some minutes). It is emulated, so KVM is not
#   needed: about a minute a boot. The system is kept in TESTBED_VM (default: target/testbed/vm).
set -euo pipefail
[ $# = 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
programs=$(readlink -f "$1")
cd "$(dirname "$0")"
image=${TESTBED_VM:-$(readlink -f ../..)/target/testbed/vm}
for program in agent-box agent-box-pane agent-box-webhook-spawn stub-agent; do
  [ -x "$programs/$program" ] || { echo "vm.sh: $programs/$program is missing; build it first" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "vm.sh: making the system needs root" >&2; exit 2; }

if ! command -v qemu-system-x86_64 > /dev/null || ! command -v mmdebstrap > /dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends qemu-system-x86 mmdebstrap e2fsprogs debian-archive-keyring > /dev/null
fi
if [ ! -e "$image" ]; then
  rm -rf "$image.new"
  mkdir -p "$image.new"
  mmdebstrap --quiet --mode=root --variant=minbase \
    --include=systemd,systemd-sysv,dbus,libpam-systemd,tmux,procps,sudo,jq,linux-image-cloud-amd64,initramfs-tools \
    trixie "$image.new/root"
  cat > "$image.new/root/etc/systemd/system/testbed.service" <<'UNIT'
[Unit]
Description=What the testbed runs
RequiresMountsFor=/testbed
[Service]
Type=oneshot
ExecStart=/bin/bash /testbed/start
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
UNIT
  echo '/dev/vda / ext4 defaults 0 1' > "$image.new/root/etc/fstab"
  echo '/dev/vdb /testbed ext4 ro 0 0' >> "$image.new/root/etc/fstab"
  mkdir "$image.new/root/testbed"
  # Nobody logs in; the console is the testbed's.
  ln -sf /dev/null "$image.new/root/etc/systemd/system/serial-getty@ttyS0.service"
  cp "$image.new"/root/boot/vmlinuz-* "$image.new/kernel"
  cp "$image.new"/root/boot/initrd.img-* "$image.new/initrd"
  truncate -s 3G "$image.new/disk"
  mke2fs -q -t ext4 -d "$image.new/root" "$image.new/disk"
  rm -rf "$image.new/root"
  mv "$image.new" "$image"
fi

run=$(mktemp -d /var/tmp/testbed.XXXXXX)
trap 'rm -rf "$run"' EXIT
mkdir "$run/testbed"
cp -r limits.sh lib.sh ../golden "$run/testbed/"
cp -L "$programs"/{agent-box,agent-box-pane,agent-box-webhook-spawn,stub-agent} "$run/testbed/"
cat > "$run/testbed/start" <<'START'
boot=$(($(cat /var/lib/testbed 2> /dev/null) + 1))
echo "$boot" > /var/lib/testbed
CHECK_SECONDS=120 bash /testbed/limits.sh "$boot"
printf '\ntestbed: boot %s ended with %s\n' "$boot" $?
systemctl reboot --no-block
START
truncate -s 128M "$run/share"
mke2fs -q -t ext4 -d "$run/testbed" "$run/share"
cp --sparse=always "$image/disk" "$run/disk"
for boot in 1 2; do
  timeout -k 10 1800 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m 2048 -smp 2 \
    -nographic -no-reboot -nic none -kernel "$image/kernel" -initrd "$image/initrd" \
    -append 'root=/dev/vda rw console=ttyS0 quiet loglevel=3 systemd.show_status=false systemd.wants=testbed.service' \
    -drive "file=$run/disk,format=raw,if=virtio" -drive "file=$run/share,format=raw,if=virtio,readonly=on" \
    < /dev/null > "$run/console" 2>&1 || true
  tr -d '\r' < "$run/console" | grep -aoE '(-- |ok    |FAIL  |   |testbed: ).*' || cat "$run/console"
  grep -aq "testbed: boot $boot ended with 0" "$run/console" || exit 1
done
