# Options of the whole box.
(
  { builtPackage, config, lib, onUnlessRefused, orNull, words, ... }:
  let
    inherit (lib) mkEnableOption mkOption types;
  in
  {
    enable = mkEnableOption "agent-box, which keeps coding agents running in tmux sessions";

    package = mkOption {
      type = types.package;
      default = builtPackage;
      defaultText = lib.literalMD "built from the source that this file carries";
      example = lib.literalExpression "inputs.agent-box.packages.\${pkgs.stdenv.hostPlatform.system}.default";
      description = ''
        The agent-box programs.
        A replacement must have `bin/agent-box`, the same program as `agent-box-session`, `agent-box-webhook` and `agent-box-webhook-self`, and `bin/agent-box-pane` and `bin/agent-box-webhook-spawn`.
      '';
    };

    agent = mkOption {
      type = types.enum [ "claude" "codex" ];
      default = "claude";
      example = "codex";
      description = "The agent of sessions that name none.";
    };

    installAgents = mkOption {
      type = types.listOf (types.enum [ "claude" "codex" ]);
      default = [ "claude" "codex" ];
      example = [ "codex" ];
      description = ''
        The agents of this box, on the system's PATH and on that of every session.
        Declared sessions may only name these, or `shell`, which is always there.
      '';
    };

    agentPackages = lib.genAttrs [ "claude" "codex" ] (
      kind:
      orNull types.package {
        example = lib.literalExpression "pkgs.${{ claude = "claude-code"; codex = "codex"; }.${kind}}";
        description = ''
          The package with `bin/${kind}`.
          Null takes it from {option}`services.agent-box.selfUpdate.agentNixpkgs`, or else from the system's packages.
        '';
      }
    );

    codexFullAccess = onUnlessRefused ''
      Whether `/etc/codex/config.toml` lets codex work without asking and without its own sandbox.
      The box is the sandbox then: codex can do what its Linux user can.
    '';

    remoteControlHost = mkOption {
      type = types.str;
      default = config.networking.fqdnOrHostName;
      defaultText = lib.literalExpression "config.networking.fqdnOrHostName";
      example = "box.example.org";
      description = ''
        The host part of the names under which sessions appear in the vendors' apps.
        Empty means {option}`services.agent-box.web.domain` where that is in use, else the kernel's host name.
      '';
    };

    graceTime = mkOption {
      type = types.ints.unsigned;
      default = 5;
      example = 30;
      description = "Seconds between asking a session to end and killing what is left of it.";
    };

    sudoAllowlist = words {
      example = [ "/run/current-system/sw/bin/systemctl restart my-app.service" ];
      description = ''
        Commands that every agent user may run as root without a password.
        With any entry, the units in which agents run can gain privileges: their `NoNewPrivileges` is off.
      '';
    };

    extraPackages = mkOption {
      type = types.listOf types.package;
      default = [ ];
      example = lib.literalExpression "[ pkgs.nodejs pkgs.go ]";
      description = "More programs for the agents, also on the system's PATH.";
    };

    environmentFiles = words {
      example = [ "/run/secrets/agents.env" ];
      description = ''
        Files of `KEY=value` lines, read as root when a supervisor starts; every session gets their variables.
        A leading `-` lets a file be missing. Sessions that run already keep what they have.
      '';
    };

    protectMemory = onUnlessRefused ''
      Whether the box compresses memory before it runs short (zram), ends the greediest agent before the kernel has to choose (earlyoom),
      and prefers agents over tmux and the daemons when something must be killed.
    '';

    selfUpdate = {
      enable = mkEnableOption "`agent-box-update.service`, which moves this box to the newest agent-box when it is started";

      repo = mkOption {
        type = types.strMatching "[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+";
        default = "agent-box/agent-box";
        example = "example/agent-box";
        description = "The GitHub repository, as `owner/name`, whose default branch is followed.";
      };

      rev = mkOption {
        type = types.str;
        example = "0123456789abcdef0123456789abcdef01234567";
        description = "The commit that this configuration was built from; an update must be a descendant of it.";
      };

      pinFile = mkOption {
        type = types.str;
        default = "/etc/nixos/agent-box-pin.nix";
        example = "/etc/nixos/pins/agent-box.nix";
        description = "The file that the update writes: `{ rev = …; sha256 = …; }` of `nixos/agent-box.nix`.";
      };

      agentNixpkgs = orNull (types.submodule {
        options = {
          url = mkOption {
            type = types.str;
            example = "https://releases.nixos.org/nixos/unstable/nixos-26.11pre900000.0123456789ab/nixexprs.tar.xz";
            description = "The address of its archive.";
          };
          sha256 = mkOption {
            type = types.str;
            example = lib.fakeSha256;
            description = "The hash of its archive when that is unpacked, as `nix-prefetch-url --unpack` prints it.";
          };
        };
      }) {
        example = lib.literalExpression "import /etc/nixos/agent-box-agent-pin.nix";
        description = "A second nixpkgs from which only the agents are taken, so that they can be newer than the system.";
      };

      agentPinFile = mkOption {
        type = types.str;
        default = "/etc/nixos/agent-box-agent-pin.nix";
        example = "/etc/nixos/pins/agents.nix";
        description = "The file that the update writes for {option}`services.agent-box.selfUpdate.agentNixpkgs`: `{ url = …; sha256 = …; }`.";
      };
    };

    spotInterruption = {
      enable = onUnlessRefused ''
        Whether people are warned when Amazon takes a spot machine back, about two minutes before it does, and the supervisors stop in time.
        The machine is not shut down, for then it would not be started again. On a machine of another kind the monitor ends at once.
      '';

      gracePeriod = mkOption {
        type = types.ints.unsigned;
        default = 75;
        example = 60;
        description = "Seconds between the warning and the stop of the supervisors.";
      };

      pollInterval = mkOption {
        type = types.ints.positive;
        default = 5;
        example = 10;
        description = "Seconds between two questions to the cloud whether the machine is taken back.";
      };

      message = mkOption {
        type = types.strMatching "[^\n\r]+";
        default = "⚠️ This machine is taken back in about two minutes: commit and push what must not be lost.";
        example = "⚠️ Amazon takes this machine back: push now.";
        description = "The one line that everybody who looks at a session is shown, until a key is pressed. It is never typed into a terminal.";
      };
    };

    files = mkOption {
      type = types.listOf types.package;
      internal = true;
      description = "The text files in the store that the units name, for checks.";
    };
  }
)
