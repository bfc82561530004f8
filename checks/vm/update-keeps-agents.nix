# A switch to another configuration, with another program, ends no agent.
{ lib, module, pkgs, ... }:
let
  agents = {
    imports = [ (import ./stub-box.nix { inherit module pkgs; }) ];
    services.agent-box.users.alice.sessions = {
      main = { };
      tools.agent = "shell";
    };
  };
in
{
  name = "agent-box-update-keeps-agents";

  nodes.machine = { config, ... }: {
    imports = [ agents ];
    virtualisation.memorySize = 2048;
    specialisation.newer.configuration = {
      # Another store path of the same programs, another tmux configuration's unit text, and one
      # session more.
      services.agent-box = {
        package = lib.mkForce (pkgs.runCommand "agent-box-newer" { } ''
          cp -r ${(pkgs.nixos { imports = [ agents ]; system.stateVersion = config.system.stateVersion; }).config.services.agent-box.package} "$out"
        '');
        extraPackages = [ pkgs.hello ];
        users.alice.sessions.later = { };
      };
    };
  };

  testScript = ''
    machine.wait_for_unit("multi-user.target")
    machine.wait_until_succeeds("test $(pgrep -c -u alice -x claude) = 1")
    processes = "pgrep -u alice -f 'bin/claude|agent-box-pane|tmux.* -D' | sort"
    before = machine.succeed(processes)
    supervisor = machine.succeed("systemctl show --property MainPID agent-box-alice.service")

    machine.succeed("/run/current-system/specialisation/newer/bin/switch-to-configuration test")

    assert supervisor != machine.succeed("systemctl show --property MainPID agent-box-alice.service")
    machine.wait_until_succeeds("test $(pgrep -c -u alice -x claude) = 2")
    for pid in before.split():
        machine.succeed(f"kill -0 {pid}")
    machine.succeed("runuser -l alice -c 'agent-box ls' | grep later")
  '';
}
