# A box whose agent notes how it was started, and stays.
{ module, pkgs }:
{
  imports = [ module ];
  services.agent-box = {
    enable = true;
    installAgents = [ "claude" ];
    agentPackages.claude = pkgs.writeShellScriptBin "claude" ''
      printf '%s\0' "$@" >> "$HOME/started"
      printf '\n' >> "$HOME/started"
      trap 'exit 0' HUP TERM
      while :; do ${pkgs.coreutils}/bin/sleep 1 & wait; done
    '';
  };
}
