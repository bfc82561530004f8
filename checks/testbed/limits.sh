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
  echo '{"review": [{"alloc": 0, "after_ms": 3000}]}' > /home/alice/.stub-agent/plan.json
  for user in alice bob; do
    systemctl enable --quiet "agent-box-$user-tmux.service" "agent-box-$user.service"
    check "agent-box-$user starts" systemctl start "agent-box-$user.service"
  done
  for session in main tools; do check "$session is live" is_state alice "$session" live; done
  limit() { [ "$(cat "$group/$(id review)/agent/$1")" = "$2" ]; }
  check "its memory is limited" limit memory.max 99999744
  check "its tasks are limited" limit pids.max 512
  check "its share of the processor is set" limit cpu.weight 50
  score() { [ "$(cat "/proc/$1/oom_score_adj")" = "$2" ]; }
  check "the supervisor is spared when memory runs out" score "$(main_pid agent-box-alice)" -500
  check "so is the server of the terminals" score "$(main_pid agent-box-alice-tmux)" -500
  check "so is a launcher" score "$(pgrep -u alice -x agent-box-pane | head -n1)" -500
  check "an agent goes first" score "$(pgrep -u alice -x codex)" 500
  others=$(pgrep -u alice -x 'codex|bash|tmux: server|agent-box' | tr '\n' ' ')
  out_of_memory() { as alice agent-box why review | grep 'out of memory'; }
  check "what allocates without end dies, and why says so" out_of_memory
  same_others() { [ "$(pgrep -u alice -x 'codex|bash|tmux: server|agent-box' | tr '\n' ' ')" = "$others" ]; }
  check "it dies alone" same_others
  echo "-- before the reboot"
  check "review runs again" is_state alice review live
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
