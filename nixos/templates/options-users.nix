# Options of the users and their sessions.
(
  { lib, onUnlessRefused, orNull, words, ... }:
  let
    inherit (lib) mkOption types;

    # What a session can say, and a user whose one session is not declared.
    common = {
      skipPermissions = onUnlessRefused "Whether the agent works without asking for permission.";

      remoteControl = onUnlessRefused "Whether the vendor's apps can drive the session.";

      remoteControlName = orNull types.str {
        example = "build machine";
        description = "The name in the vendor's apps; null makes it `<user>-<session>@<host>`.";
      };

      extraArgs = words {
        example = [ "--model" "opus" ];
        description = "Further arguments of the agent's command line.";
      };
    };

    kind = description: orNull (types.enum [ "claude" "codex" "shell" ]) {
      example = "shell";
      inherit description;
    };

    size = types.either types.ints.positive (types.strMatching "[0-9]+[KMGT]");

    session = types.submodule {
      options = common // {
        agent = kind "What runs in the session; null means {option}`services.agent-box.agent`.";

        workingDirectory = orNull types.str {
          example = "/home/alice/src/app";
          description = "Where it runs; null means the user's home. The session waits until the directory exists. Outside the home, agents can only read.";
        };

        initialPrompt = orNull types.str {
          example = "Set up the project as README.md says.";
          description = "What the agent is told when it starts for the first time; a shell is told nothing. Everybody on the machine can read it.";
        };

        resumePrompt = orNull types.str {
          example = "Go on where you were, and say what is left.";
          description = "What the agent is told at every later start; null means a built-in reminder to go on. Everybody on the machine can read it.";
        };

        limits = {
          memoryHigh = orNull size {
            example = "3G";
            description = "Memory above which the session is slowed down, in bytes or with K, M, G or T.";
          };
          memoryMax = orNull size {
            example = "4G";
            description = "Memory above which the session, and nothing else, is killed; in bytes or with K, M, G or T.";
          };
          tasksMax = orNull types.ints.positive {
            example = 512;
            description = "How many processes and threads the session may have.";
          };
          cpuWeight = orNull (types.ints.between 1 10000) {
            example = 50;
            description = "The session's share of the processor when it is busy; 100 is everybody's default.";
          };
        };
      };
    };

    user = types.submodule ({ name, ... }: {
      options = common // {
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

        agent = kind "What runs in `main` when {option}`sessions` is empty; null means {option}`services.agent-box.agent`.";

        workingDirectory = mkOption {
          type = types.str;
          default = "/home/${name}";
          defaultText = lib.literalMD "the user's home";
          example = "/home/alice/src/app";
          description = "Where `main` runs when {option}`sessions` is empty; the session waits until the directory exists.";
        };

        extraGroups = words {
          example = [ "docker" ];
          description = "Further groups of the Linux user.";
        };

        environment = mkOption {
          type = types.attrsOf types.str;
          default = { };
          example = { EDITOR = "nano"; };
          description = "Variables of every session of this user. They win over everything this module sets. Everybody on the machine can read them: secrets belong into {option}`environmentFiles`.";
        };

        environmentFiles = words {
          example = [ "-/run/secrets/alice.env" ];
          description = "Like {option}`services.agent-box.environmentFiles`, read after those.";
        };

        web.passwordHashFile = orNull (types.strMatching "/.+") {
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
