# Every option of the module, as its documentation shows it.
{ nixpkgs, module }:
let
  lib = import (nixpkgs + "/lib");
  inherit (import (nixpkgs + "/nixos/lib/eval-config.nix") {
    inherit lib;
    system = "x86_64-linux";
    modules = [ module ];
  }) options;
  shown = lib.filter (it: it.visible && !it.internal) (lib.optionAttrSetToDocList options.services.agent-box);
in
lib.listToAttrs (
  map (it: lib.nameValuePair it.name {
    inherit (it) description type;
    default = it.default.text or null;
    example = it.example.text or null;
  }) shown
)
