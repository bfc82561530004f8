# What can be known of a VM test without a machine to run it: its nodes evaluate, its script exists.
{ nixpkgs, module, test }:
let
  lib = import (nixpkgs + "/lib");
  pkgs = import nixpkgs { system = "x86_64-linux"; };
  # As runNixOSTest does it.
  inherit ((import (nixpkgs + "/nixos/lib") { inherit lib; }).evalTest {
    imports = [ (import test { inherit lib module pkgs; }) ];
    hostPkgs = pkgs;
    node.pkgs = pkgs;
  }) config;
in
{
  nodes = lib.mapAttrs (_: node: builtins.unsafeDiscardStringContext node.system.build.toplevel.drvPath) config.nodes;
  inherit (config) name;
  testScript = config.testScriptString;
}
