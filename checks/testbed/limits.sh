#!/usr/bin/env bash
# limits.sh BOOT: the golden box on a kernel with all control groups. vm.sh starts this at each boot.
set -uo pipefail
. /testbed/lib.sh
boot=$1
golden=/testbed/golden/two-users
registry=/home/alice/.config/agent-box/sessions.json
launches=/home/alice/.stub-agent/launches.jsonl
group=/sys/fs/cgroup/system.slice/agent-box-alice-tmux.service/sessions
id() { jq -re --arg name "$1" '.sessions[$name].id' "$registry"; }
# What a launch's conversation was, the last time.
# list NAME JSON: the session is asked for by an edit of the list.
list() {
  jq --arg name "$1" --argjson session "$2" '.sessions[$name] = $session' "$registry" > /run/edited &&
    runuser -u alice -- sh -c 'cat > "$1.new" && mv "$1.new" "$1"' sh "$registry" < /run/edited
}
conversation() { jq -rse --arg name "$1" '[.[] | select(.session == $name)] | last | .conversation' "$launches"; }

if [ "$boot" = 1 ]; then
  echo "-- limits"
  for user in alice bob; do useradd --create-home --gid users --shell /bin/bash "$user"; done
  mkdir -p /etc/testbed
  install -d -o alice -g users /home/alice/src /home/alice/src/app /home/alice/.stub-agent
  lay "$golden"
  # Secrets come anew with each boot; this system has nobody to bring them.
  printf 'd /run/secrets 0700\nf /run/secrets/agents.env 0600 root root - FROM_A_FILE=secret\n' > /etc/tmpfiles.d/secrets.conf
  systemd-tmpfiles --create /etc/tmpfiles.d/secrets.conf
  # review allocates without end, under a limit that this machine can reach.
  sed -i 's/"memoryHigh":3221225472,"memoryMax":4294967296/"memoryMax":100000000/' "$STORE-agent-box-alice-sessions.json"
  # So does hungry, which comes later, until the whole machine has no more.
  echo '{"review": [{"alloc": 0, "after_ms": 3000}], "hungry": [{"alloc": 0, "after_ms": 1000}]}' > /home/alice/.stub-agent/plan.json
  for user in alice bob; do
    systemctl enable --quiet "agent-box-$user-tmux.service" "agent-box-$user.service"
    check "agent-box-$user starts" systemctl start "agent-box-$user.service"
  done
  for session in main tools; do check "$session is live" is_state alice "$session" live; done
  limit() { [ "$(cat "$group/$(id "$1")/agent/$2")" = "$3" ]; }
  check "its memory is limited" limit review memory.max 99999744
  check "its tasks are limited" limit review pids.max 512
  check "its share of the processor is set" limit review cpu.weight 50
  score() { [ "$(cat "/proc/$1/oom_score_adj")" = "$2" ]; }
  check "the supervisor is spared when memory runs out" score "$(main_pid agent-box-alice)" -500
  check "so is the server of the terminals" score "$(main_pid agent-box-alice-tmux)" -500
  check "so is a launcher" score "$(pgrep -u alice -x agent-box-pane | head -n1)" -500
  check "an agent goes first" score "$(pgrep -u alice -x codex)" 500
  # Everything of alice's but what belongs to a claude, which all that allocate here are.
  others() { pgrep -u alice -x 'codex|bash|tmux: server|agent-box' | tr '\n' ' '; }
  before=$(others)
  out_of_memory() { as alice agent-box why "$1" | grep 'out of memory'; }
  check "what allocates without end dies, and why says so" out_of_memory review
  same_others() { [ "$(others)" = "$before" ]; }
  check "it dies alone" same_others
  check "review runs again" is_state alice review live
  echo "-- a session that comes later"
  check "it is listed" list later '{"agent": "shell", "limits": {"memoryMax": 50003968, "tasksMax": 100}}'
  check "it is live" is_state alice later live
  check "its memory is limited" limit later memory.max 50003968
  check "its tasks are limited" limit later pids.max 100
  echo "-- the machine's memory runs short"
  before=$(others)
  reviewer=$(pgrep -u alice -x claude)
  # Most of it is taken at once: page by page, an emulated machine needs minutes.
  mkdir /run/ballast
  mount -t tmpfs -o size=100% ballast /run/ballast
  fallocate -l "$(awk '/^MemAvailable/ { print $2 - 600000 }' /proc/meminfo)KiB" /run/ballast/file
  check "a session without a limit is listed" list hungry '{"agent": "claude"}'
  CHECK_SECONDS=300 check "it dies, and why says so" out_of_memory hungry
  check "it dies alone" same_others
  check "and review lives on" kill -0 "$reviewer"
  umount /run/ballast
  check "it runs again" is_state alice hungry live
  echo "-- before the reboot"
  check "tools is stopped" as alice agent-box stop tools
  conversation review > /etc/testbed/review
else
  echo "-- after the reboot"
  check "main is live" is_state alice main live
  check "review is live" is_state alice review live
  resumed() { [ "$(conversation review)" = "$(cat /etc/testbed/review)" ]; }
  check "it has resumed its conversation" resumed
  check "bob's main is live" is_state bob main live
  check "what was stopped stays stopped" is_state alice tools stopped
fi
quiet() { ! journalctl --quiet --boot --priority err --unit 'agent-box-*' | grep .; }
check "no unit logged an error" quiet
if [ "$failures" != 0 ]; then
  journalctl --no-pager --boot --unit 'agent-box-*' --lines 60 | sed 's/^/   /'
  as alice agent-box log | tail -n 40 | sed 's/^/   /'
fi
[ "$failures" = 0 ]
