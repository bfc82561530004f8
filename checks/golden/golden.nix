# The text of everything the module puts on a box: path -> text.
{ nixpkgs, module, configuration }:
let
  lib = import (nixpkgs + "/lib");
  system = import (nixpkgs + "/nixos/lib/eval-config.nix") {
    system = "x86_64-linux";
    inherit lib;
    modules = [ module configuration { system.stateVersion = lib.trivial.release; } ];
  };
  inherit (system) config;
  named = prefix: lib.mapAttrs' (name: lib.nameValuePair "${prefix}/${name}");
  ours = lib.filterAttrs (name: _: lib.hasPrefix "agent-box-" name);
  guides = lib.filterAttrs (name: _: lib.hasPrefix "agent-box-guides/" name || name == "codex/config.toml");
in
named "units" (lib.mapAttrs (_: unit: unit.text) (ours config.systemd.units))
// named "etc" (lib.mapAttrs (_: file: file.text) (guides config.environment.etc))
// lib.listToAttrs (
  map (file: lib.nameValuePair "store/${file.name}${file.destination or ""}" file.text) config.services.agent-box.files
)
// {
  # Empty as long as no directory but systemd's own is needed.
  tmpfiles = lib.concatMapStrings (rule: "${rule}\n") (lib.filter (lib.hasInfix "agent-box") config.systemd.tmpfiles.rules);
  sudoers = config.security.sudo.configFile;
  earlyoom = toString config.services.earlyoom.extraArgs + "\n";
  # A test that reads them knows that no assertion of the module failed.
  assertions = lib.concatMapStrings (it: lib.optionalString (!it.assertion && lib.hasInfix "agent-box" it.message) "${it.message}\n") config.assertions;
}
