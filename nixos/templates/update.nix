# Moving the box to the newest agent-box, when somebody starts the unit.
(
  { cfg, config, lib, payload, pkgs, ... }:
  let
    script = pkgs.writeShellScript "agent-box-update" payload."scripts/update.sh";
  in
  lib.mkIf cfg.selfUpdate.enable {
    services.agent-box.files = [ script ];

    systemd.services.agent-box-update = {
      description = "Move this box to the newest agent-box";
      path = [ pkgs.curl pkgs.jq pkgs.coreutils pkgs.util-linux config.nix.package ];
      # It runs the switch that may change this very unit.
      restartIfChanged = false;
      stopIfChanged = false;
      environment = {
        REPO = cfg.selfUpdate.repo;
        CURRENT_REV = cfg.selfUpdate.rev;
        PIN_FILE = cfg.selfUpdate.pinFile;
        AGENT_PIN_FILE = cfg.selfUpdate.agentPinFile;
        NIX_PATH = "nixpkgs=/nix/var/nix/profiles/per-user/root/channels/nixos:nixos-config=/etc/nixos/configuration.nix";
      };
      serviceConfig = {
        Type = "oneshot";
        ExecStart = script;
      };
    };
  }
)
