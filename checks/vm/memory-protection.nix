# When memory runs short an agent is ended, not the box.
{ module, pkgs, ... }:
{
  name = "agent-box-memory-protection";

  nodes.machine = {
    imports = [ (import ./stub-box.nix { inherit module pkgs; }) ];
    virtualisation.memorySize = 1024;
    services.agent-box.users.alice.sessions = {
      main = { };
      greedy.agent = "shell";
    };
  };

  testScript = ''
    machine.wait_for_unit("multi-user.target")
    machine.wait_until_succeeds("pgrep -u alice -x claude")
    machine.succeed("swapon --show | grep zram")
    assert machine.succeed("sysctl -n vm.swappiness vm.page-cluster").split() == ["180", "0"]

    def score(pattern):
        return int(machine.succeed(f"cat /proc/$(pgrep -o -u alice -f '{pattern}')/oom_score_adj"))

    with subtest("agents go before the server of their terminals and the supervisor"):
        assert score("bin/claude") == 500
        assert score("tmux.* -D") == -500
        assert score("agent-box supervise") == -500

    with subtest("a greedy session is ended and nothing else"):
        before = machine.succeed("systemctl show --property MainPID agent-box-alice-tmux.service agent-box-alice.service")
        machine.succeed(
            "runuser -u alice -- env TMUX_TMPDIR=/run/agent-box-alice /run/agent-box-alice/tmux -L agent-box"
            " send-keys -t =greedy: 'tail /dev/zero' Enter"
        )
        machine.wait_until_succeeds("journalctl --unit earlyoom --grep 'sending SIG'")
        assert before == machine.succeed("systemctl show --property MainPID agent-box-alice-tmux.service agent-box-alice.service")
        machine.succeed("pgrep -u alice -x claude")
  '';
}
