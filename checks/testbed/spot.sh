# The spot monitor of the golden box, with a cloud on the loopback device: the second site of
# webhook.sh's Caddy.

echo "-- agent-box-spot-monitor"
unit=/etc/systemd/system/agent-box-spot-monitor.service
sed -i 's/"--grace" "75" "--poll" "5"/"--grace" "2" "--poll" "1"/' $unit
systemctl daemon-reload
ended_well() { [ "$(systemctl show --property ActiveState,Result --value agent-box-spot-monitor.service | sort | tr '\n' ' ')" = "inactive success " ]; }
systemctl start agent-box-spot-monitor.service
check "on a machine of no cloud it ends" ended_well
check "and says so" bash -c 'journalctl --unit agent-box-spot-monitor.service | grep "no cloud answers"'
ip address add 169.254.169.254/32 dev lo
systemctl restart agent-box-spot-monitor.service
check "on a spot machine it waits" bash -c 'journalctl --unit agent-box-spot-monitor.service | grep "this is a spot machine"'
check "and runs" systemctl is-active agent-box-spot-monitor.service

tmux=(runuser -u alice -- tmux -S "/run/agent-box-alice/tmux-$(command id -u alice)/agent-box")
sleep 60 | "${tmux[@]}" -C attach-session -t =main > /run/front/looker &
looks() { "${tmux[@]}" list-clients | grep -q .; }
check "somebody looks" looks
before=$(agents alice)
touch /run/front/taken-back
told() { { "${tmux[@]}" show-messages; cat /run/front/looker; } | grep 'This machine is taken back'; }
check "who looks is told" told
check "it ends" ended_well
for user in alice bob; do
  check "$user's supervisor is stopped" test "$(systemctl is-active "agent-box-$user.service")" = inactive
done
check "the agents are left alone" same_agents
check "and the machine runs on" test "$(systemctl is-system-running)" != stopping
rm /run/front/taken-back
for user in alice bob; do check "$user's supervisor starts again" systemctl start "agent-box-$user.service"; done
