# Before the kernel must choose whom to kill: compress, then end the greediest agent.
(
  { cfg, lib, ... }:
  lib.mkIf cfg.protectMemory {
    zramSwap = {
      enable = lib.mkDefault true;
      algorithm = lib.mkDefault "zstd";
      memoryPercent = lib.mkDefault 100;
    };
    boot.kernel.sysctl = {
      "vm.swappiness" = lib.mkDefault 180;
      "vm.page-cluster" = lib.mkDefault 0;
    };
    services.earlyoom = {
      enable = lib.mkDefault true;
      # By the kernel's 15-character names of processes.
      extraArgs = lib.mkDefault [
        "--avoid"
        "^(sshd|systemd|systemd-.*|caddy|tmux.*|agent-box|agent-box-.*|amazon-ssm-agen|ssm-.*|nix-daemon)$"
        "--prefer"
        "^(node|claude|codex)$"
      ];
    };
    systemd.oomd.enable = lib.mkDefault false;
  }
)
