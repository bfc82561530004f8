# Options of the users and their sessions.
(
  { lib, ... }:
  let
    inherit (lib) mkOption types;

    skipPermissions = mkOption {
      type = types.bool;
      default = true;
      description = "Whether the agent works without asking for permission.";
    };
    remoteControl = mkOption {
      type = types.bool;
      default = true;
      description = "Whether the vendor's apps can drive the session.";
    };
    remoteControlName = mkOption {
      type = types.nullOr types.str;
      default = null;
      example = "build machine";
      description = "The name in the vendor's apps; null makes it `<user>-<session>@<host>`.";
    };
    extraArgs = mkOption {
      type = types.listOf types.str;
      default = [ ];
      example = [ "--model" "opus" ];
      description = "Further arguments of the agent's command line.";
    };

    size = types.nullOr (types.either types.ints.positive (types.strMatching "[0-9]+[KMGT]"));

    session = types.submodule {
      options = {
        inherit skipPermissions remoteControl remoteControlName extraArgs;

        agent = mkOption {
          type = types.nullOr (types.enum [ "claude" "codex" "shell" ]);
          default = null;
          description = "What runs in the session; null means {option}`services.agent-box.agent`.";
        };

        workingDirectory = mkOption {
          type = types.nullOr types.str;
          default = null;
          example = "/home/alice/src/app";
          description = "Where it runs; null means the user's home. The session waits until the directory exists. Outside the home, agents can only read.";
        };

        initialPrompt = mkOption {
          type = types.nullOr types.str;
          default = null;
          example = "Set up the project as README.md says.";
          description = "What the agent is told when it starts for the first time; a shell is told nothing. Everybody on the machine can read it.";
        };

        resumePrompt = mkOption {
          type = types.nullOr types.str;
          default = null;
          description = "What the agent is told at every later start; null means a built-in reminder to go on.";
        };

        limits = {
          memoryHigh = mkOption {
            type = size;
            default = null;
            example = "3G";
            description = "Memory above which the session is slowed down, in bytes or with K, M, G or T.";
          };
          memoryMax = mkOption {
            type = size;
            default = null;
            example = "4G";
            description = "Memory above which the session, and nothing else, is killed.";
          };
          tasksMax = mkOption {
            type = types.nullOr types.ints.positive;
            default = null;
            example = 512;
            description = "How many processes and threads the session may have.";
          };
          cpuWeight = mkOption {
            type = types.nullOr (types.ints.between 1 10000);
            default = null;
            example = 50;
            description = "The session's share of the processor when it is busy; 100 is everybody's default.";
          };
        };
      };
    };

    user = types.submodule ({ name, ... }: {
      options = {
        inherit skipPermissions remoteControl remoteControlName extraArgs;

        sessions = mkOption {
          type = types.attrsOf session;
          default = { };
          example = lib.literalExpression ''
            {
              main = { };
              review = { agent = "codex"; limits.memoryMax = "4G"; };
              tools.agent = "shell";
            }
          '';
          description = ''
            Sessions that this user starts with.
            Each is listed once, as soon as its name is free, also on a box that has sessions already;
            from then on the session list is the user's: a changed declaration changes nothing, and a removed session stays removed.
            Empty means one session `main`, made from the options beside this one.
          '';
        };

        agent = mkOption {
          type = types.nullOr (types.enum [ "claude" "codex" "shell" ]);
          default = null;
          description = "What runs in `main` when {option}`sessions` is empty; null means {option}`services.agent-box.agent`.";
        };

        workingDirectory = mkOption {
          type = types.str;
          default = "/home/${name}";
          defaultText = lib.literalMD "the user's home";
          description = "Where `main` runs when {option}`sessions` is empty; the session waits until the directory exists.";
        };

        extraGroups = mkOption {
          type = types.listOf types.str;
          default = [ ];
          example = [ "docker" ];
          description = "Further groups of the Linux user.";
        };

        environment = mkOption {
          type = types.attrsOf types.str;
          default = { };
          example = { EDITOR = "nano"; };
          description = "Variables of every session of this user. They win over everything this module sets. Everybody on the machine can read them: secrets belong into {option}`environmentFiles`.";
        };

        environmentFiles = mkOption {
          type = types.listOf types.str;
          default = [ ];
          example = [ "-/run/secrets/alice.env" ];
          description = "Like {option}`services.agent-box.environmentFiles`, read after those.";
        };

        web.passwordHashFile = mkOption {
          type = types.nullOr (types.strMatching "/.+");
          default = null;
          example = "/var/lib/secrets/alice.hash";
          description = ''
            File with an argon2id or bcrypt hash of the password for this user's pages; only root should read it, and it must not lie in the Nix store.
            Nothing asks for a password in this version, so this has no effect yet.
          '';
        };

        agentsMd = mkOption {
          type = types.nullOr types.str;
          default = "";
          example = "Our house rules: …";
          description = ''
            Text after the guide that agents of this user read (`/etc/agent-box-guides/AGENTS.<user>.md`).
            Null leaves the guide out, with the files in working directories that point to it.
          '';
        };
      };
    });
  in
  {
    users = mkOption {
      type = types.attrsOf user;
      default = { };
      example = lib.literalExpression "{ alice = { }; }";
      description = "The Linux users of this box whose agents are kept running. A user is the boundary of trust.";
    };
  }
)
