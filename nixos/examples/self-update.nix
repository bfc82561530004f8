# A box that moves to the newest agent-box when somebody starts agent-box-update.service.
# On the box, `rev` comes from the file that the update writes:
#   rev = (import /etc/nixos/agent-box-pin.nix).rev;
{
  services.agent-box = {
    enable = true;
    installAgents = [ "claude" ];
    protectMemory = false;
    spotInterruption.message = "100% sure: \"gone\" in $TWO minutes";
    selfUpdate = {
      enable = true;
      rev = "0123456789abcdef0123456789abcdef01234567";
    };
    users.agent.skipPermissions = false;
  };
}
