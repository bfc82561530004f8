#!/usr/bin/env bash
# The golden box under a real systemd, from its first boot on. run.sh starts this in the container.
set -uo pipefail
. /testbed/lib.sh

golden=/testbed/golden/two-users
registry=/home/alice/.config/agent-box/sessions.json
launches=/home/alice/.stub-agent/launches.jsonl

for user in alice bob; do useradd --create-home --gid users --shell /bin/bash "$user"; done
install -d -m 0700 /run/secrets
echo 'FROM_A_FILE=secret' > /run/secrets/agents.env
install -d -o alice -g users /home/alice/src /home/alice/src/app /home/alice/.stub-agent
# What review leaves behind: a child in a session of its own, deaf to polite signals.
echo '{"review": [{"fork_setsid": true}]}' > /home/alice/.stub-agent/plan.json

echo "-- $(systemctl --version | head -n1): the units as text"
useradd --create-home --gid users agent
for unit in /testbed/golden/*/units/*; do
  lay_store "${unit%/units/*}"
  name=${unit#/testbed/golden/}
  check "systemd-analyze verify $name" systemd-analyze verify --man=no --recursive-errors=no "$unit"
  case $name in
    *.socket) continue ;;
    */agent-box-update.service) continue ;; # runs a switch of the whole system, as root
    *-tmux.service) if grep -q '^NoNewPrivileges=true' "$unit"; then most=45; else most=70; fi ;;
    *) most=20 ;;
  esac
  check "its exposure is at most $((most / 10)).$((most % 10))" \
    systemd-analyze security --offline=true --threshold=$most --no-pager "$unit"
  systemd-analyze security --offline=true --no-pager "$unit" | sed -n 's/^→ Overall exposure level for/      /p'
done

echo "-- first boot"
lay "$golden"
for user in alice bob; do
  systemctl enable --quiet "agent-box-$user-tmux.service" "agent-box-$user.service"
  check "agent-box-$user starts" systemctl start "agent-box-$user.service"
done
check "the declared main is live" is_state alice main live
check "the declared review is live" is_state alice review live
check "the declared tools is live" is_state alice tools live
check "bob's main is live" is_state bob main live
check "agents inherit what the configuration lists" \
  jq -se 'last.environment | .EDITOR == "nano" and .FROM_A_FILE == "secret" and (has("AGENT_BOX_TMUX") | not)' "$launches"
group=/sys/fs/cgroup/system.slice/agent-box-alice-tmux.service/sessions
id() { jq -re --arg name "$1" '.sessions[$name].id' "$registry"; }
review=$(id review)
for name in main review tools; do
  check "$name runs in a group of its own below the tmux unit" grep -q . "$group/$(id $name)/agent/cgroup.procs"
done
check "the guide is pointed to" grep -q agent-box-guides/AGENTS.alice.md /home/alice/AGENTS.md
check "its owner may edit it" test "$(stat -c %a:%U /home/alice/AGENTS.md)" = 644:alice
check "the session list is nobody else's" test "$(stat -c %a:%U "$registry")" = 600:alice
check "bob sees nothing of alice" bash -c "! runuser -u bob -- ls /run/agent-box-alice"

echo "-- the supervisor comes and goes"
before=$(agents alice)
check "agents run" test -n "$before"
same_agents() { [ "$(agents alice)" = "$before" ]; }
check "restart" systemctl restart agent-box-alice.service
check "a restart of the supervisor changes no agent" same_agents
cp -rL "$STORE-agent-box-0.1.0/bin" /run/newer
ln -sf /run/newer/agent-box "$STORE-agent-box-0.1.0/bin/agent-box"
check "restart with a new program" systemctl restart agent-box-alice.service
check "a new program changes no agent" same_agents
killed=$(main_pid agent-box-alice)
kill -KILL "$killed"
another() { [ "$(main_pid agent-box-alice)" != "$killed" ] && systemctl is-active agent-box-alice.service; }
check "a killed supervisor comes back" another
check "a killed supervisor changes no agent" same_agents
check "its sessions are live" is_state alice main live
check "it sees the /tmp of its agents" share_tmp alice

echo "-- rm"
deaf=$(jq -r .pid /home/alice/.stub-agent/descendants.jsonl)
check "review has left a deaf child" kill -0 "$deaf"
check "rm returns" as alice agent-box rm review
check "rm leaves no child" bash -c "! kill -0 $deaf"
check "rm leaves no group" test ! -e "$group/$review"
check "tmux has no such session" bash -c '! runuser -u alice -- tmux -S /run/agent-box-alice/tmux-$(id -u alice)/agent-box has-session -t =review'
before=$(agents alice)
check "restart" systemctl restart agent-box-alice.service
check "what was removed stays removed, although it is declared" bash -c "! jq -e .sessions.review $registry"

echo "-- an edit while the supervisor is stopped"
check "stop" systemctl stop agent-box-alice.service
check "a stopped supervisor changes no agent" same_agents
prompt=$(printf 'line one\n"quotes" $(not run) `nor this` %%s \\ ;\n%s' "$(seq -s ' ' 3000)")
jq --arg prompt "$prompt" '.sessions.task = {agent: "claude", initialPrompt: $prompt}' "$registry" > /run/edited
runuser -u alice -- tee "$registry" < /run/edited > /dev/null
check "the whole prompt is listed" jq -e --arg prompt "$prompt" '.sessions.task.initialPrompt == $prompt' "$registry"
check "nothing starts it" is_state alice task starting
check "start" systemctl start agent-box-alice.service
check "it is live" is_state alice task live
check "in a group of its own" grep -q . "$group/$(id task)/agent/cgroup.procs"
check "it has run and its prompt is consumed" \
  jq -e '.sessions.task | .hasRun == true and .initialPrompt == null' "$registry"
check "the agent got the prompt once, as written" \
  jq -se --arg sum "$(printf %s "$prompt" | sha256sum | cut -d' ' -f1)" \
  '[.[] | select(.session == "task")] | length == 1 and .[0].prompt.sha256 == $sum' "$launches"
check "the other agents are the same" bash -c "[[ \"$(agents alice)\" == *\"\$1\"* ]]" _ "${before%% *}"

echo "-- the terminals' own unit"
server=$(main_pid agent-box-alice-tmux)
kill -KILL "$server"
revived() { [ "$(main_pid agent-box-alice-tmux)" != "$server" ] && is_state alice main live; }
check "a killed tmux server comes back with its sessions" revived
check "the supervisor sees the /tmp of the new ones" share_tmp alice
check "bob's are untouched" is_state bob main live

. /testbed/webhook.sh
. /testbed/spot.sh
. /testbed/update.sh

echo "-- the journal"
check "no unit logged an error" bash -c '! journalctl --quiet --priority err --unit "agent-box-*" | grep .'
if [ "$failures" != 0 ]; then
  journalctl --no-pager --unit 'agent-box-*' --lines 80
  as alice agent-box ls
  as alice agent-box log
fi
echo "$failures failures"
[ "$failures" = 0 ]
