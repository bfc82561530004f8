# What can be known of a VM test without a machine to run it: its nodes evaluate, its script exists.
{ nixpkgs, module, test }:
let
  lib = import (nixpkgs + "/lib");
  pkgs = import nixpkgs { system = "x86_64-linux"; };
  it = import test { inherit lib module pkgs; };
  evaluate = node: import (nixpkgs + "/nixos/lib/eval-config.nix") {
    system = "x86_64-linux";
    inherit lib;
    modules = [ node (nixpkgs + "/nixos/modules/virtualisation/qemu-vm.nix") { documentation.enable = false; system.stateVersion = lib.trivial.release; } ];
  };
in
{
  nodes = lib.mapAttrs (_: node: builtins.unsafeDiscardStringContext (evaluate node).config.system.build.toplevel.drvPath) it.nodes;
  inherit (it) name testScript;
}
