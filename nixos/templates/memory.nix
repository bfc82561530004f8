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
      # By the kernel's names of processes, which end after 15 characters; nixpkgs starts some
      # agents through a wrapper.
      extraArgs = lib.mkDefault [
        "--avoid"
        "^(sshd|systemd|systemd-.*|caddy|tmux.*|agent-box|agent-box-.*|amazon-ssm-agen|ssm-.*|nix-daemon)$"
        "--prefer"
        "^(node|[.]?(claude|codex)(-wrapped)?)$"
      ];
    };
    systemd.oomd.enable = lib.mkDefault false;
  }
)
