# Linux users, what they may do, and what they and their agents find on the box.
(
  { agentPath, cfg, commands, guide, guidePath, home, lib, options, pkgs, pointer, seed, sudoRules, ... }:
  let
    users = lib.attrNames cfg.users;
    guided = lib.filter (user: cfg.users.${user}.agentsMd != null) users;
  in
  {
    users.users = lib.mapAttrs (user: given: {
      isNormalUser = true;
      home = home user;
      createHome = true;
      inherit (given) extraGroups;
      # Between the default of NixOS and whatever a host says.
      shell = lib.mkOverride 900 pkgs.bashInteractive;
    }) cfg.users;

    environment.systemPackages = agentPath;
    environment.etc = lib.mkMerge [
      (lib.listToAttrs (map (user: lib.nameValuePair (guidePath user) { text = guide user; mode = "0444"; }) guided))
      (lib.mkIf (cfg.codexFullAccess && lib.elem "codex" cfg.installAgents) {
        "codex/config.toml".text = ''
          approval_policy = "never"
          sandbox_mode = "danger-full-access"
        '';
      })
    ];

    services.agent-box.files = map seed users ++ map pointer guided ++ commands;

    security.sudo.extraRules = lib.mkIf (sudoRules != [ ]) [
      {
        inherit users;
        commands = map (command: { inherit command; options = [ "NOPASSWD" ]; }) sudoRules;
      }
    ];

    programs.git = {
      enable = true;
      config.credential = lib.genAttrs [ "https://github.com" "https://gist.github.com" ] (_: {
        helper = "!${pkgs.gh}/bin/gh auth git-credential";
      });
    };

    nix.settings.experimental-features = [ "nix-command" "flakes" ];
    # Packages that come from outside bring their own configuration; none can be added to it.
    nixpkgs.config = lib.mkIf (!options.nixpkgs.pkgs.isDefined) {
      allowUnfreePredicate = lib.mkDefault (package: lib.elem (lib.getName package) [ "claude-code" "codex" ]);
    };
  }
)
