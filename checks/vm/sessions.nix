# Sessions of a box from its first boot over a reboot: seeded, added, limited, removed.
{ module, pkgs, ... }:
{
  name = "agent-box-sessions";

  nodes.machine = {
    imports = [ (import ./stub-box.nix { inherit module pkgs; }) ];
    virtualisation.memorySize = 2048;
    services.agent-box = {
      users.alice.sessions = {
        main = { };
        hungry = {
          agent = "shell";
          limits.memoryMax = "64M";
        };
      };
      users.bob.agent = "shell";
    };
  };

  testScript = ''
    import json

    def agent_box(user, *words):
        return machine.succeed(f"runuser -l {user} -c 'agent-box {' '.join(words)}'")

    def state(user, name):
        rows = json.loads(agent_box(user, "ls", "--json"))["sessions"]
        return next((row["state"]["word"] for row in rows if row["name"] == name), None)

    def until(user, name, word):
        with machine.nested(f"waiting for {user}'s {name} to be {word}"):
            retry(lambda _: state(user, name) == word)

    def pids(pattern):
        return machine.succeed(f"pgrep -u alice -f '{pattern}' | sort").split()

    machine.wait_for_unit("multi-user.target")
    with subtest("the first boot starts what is declared"):
        until("alice", "main", "live")
        until("alice", "hungry", "live")
        until("bob", "main", "live")

    with subtest("each session has a group with its limits"):
        group = machine.succeed(
            "find /sys/fs/cgroup/system.slice/agent-box-alice-tmux.service/sessions -name memory.max"
            " -exec grep -l 67108864 {} +"
        ).strip()
        assert group.endswith("/agent/memory.max"), group

    with subtest("so has one that comes later"):
        groups = "ls -d /sys/fs/cgroup/system.slice/agent-box-alice-tmux.service/sessions/*/ | wc -l"
        agent_box("alice", "add", "later", "--agent", "shell")
        until("alice", "later", "live")
        assert machine.succeed(groups).strip() == "3"
        agent_box("alice", "rm", "later")
        assert machine.succeed(groups).strip() == "2"

    # It would lose the exit status of many that end.
    machine.fail("grep -q libutempter $(readlink -f /run/agent-box-alice/tmux)")

    with subtest("a session that runs out of memory dies alone"):
        before = pids("bin/claude")
        machine.succeed(
            "runuser -u alice -- env TMUX_TMPDIR=/run/agent-box-alice /run/agent-box-alice/tmux -L agent-box"
            " send-keys -t =hungry: 'tail /dev/zero' Enter"
        )
        retry(lambda _: "memory" in agent_box("alice", "why", "hungry"))
        assert pids("bin/claude") == before

    with subtest("rm leaves nothing, and what is declared stays removed"):
        agent_box("alice", "rm", "hungry")
        assert machine.succeed(groups).strip() == "1"
        machine.succeed("systemctl restart agent-box-alice.service")
        assert state("alice", "hungry") is None

    with subtest("the supervisor comes and goes, the agents stay"):
        before = pids("bin/claude")
        machine.succeed("systemctl restart agent-box-alice.service")
        machine.succeed("systemctl kill --signal=KILL agent-box-alice.service")
        until("alice", "main", "live")
        assert pids("bin/claude") == before

    with subtest("after a reboot sessions run again, stopped ones do not"):
        agent_box("bob", "stop", "main")
        machine.shutdown()
        machine.start()
        machine.wait_for_unit("multi-user.target")
        until("alice", "main", "live")
        assert state("bob", "main") == "stopped"

    machine.fail("journalctl --quiet --priority err --unit 'agent-box-*' | grep .")
  '';
}
