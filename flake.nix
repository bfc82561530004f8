# The flake for people who use one: everything of interest comes out of nixos/agent-box.nix, the
# file that others import alone.
{
  description = "Keeps coding agents running in tmux sessions, exactly those you asked for";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;
      forEachSystem =
        make:
        lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (
          system: make system nixpkgs.legacyPackages.${system}
        );

      # Taken out of the module, so that a box and the flake build one and the same store path.
      agentBox =
        system:
        (lib.nixosSystem {
          modules = [
            self.nixosModules.default
            { nixpkgs.hostPlatform = system; }
          ];
        }).config.services.agent-box.package;

      # For those who change this repository only; no box builds it.
      assemble =
        pkgs:
        pkgs.rustPlatform.buildRustPackage {
          pname = "assemble";
          inherit ((lib.importTOML ./Cargo.toml).workspace.package) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--package" "agent-box-assemble" ];
          # Left to the check `assemble-escaping`: the tests without cargo and Nix, with the proof.
          doCheck = false;
          cargoTestFlags = [ "--package" "agent-box-assemble" "--lib" ];
          meta.mainProgram = "assemble";
        };
    in
    {
      # A set and not a path: imported twice, by two modules, it is still one module.
      nixosModules = {
        agent-box = {
          imports = [ ./nixos/agent-box.nix ];
        };
        default = self.nixosModules.agent-box;
      };

      packages = forEachSystem (
        system: pkgs: {
          agent-box = agentBox system;
          default = agentBox system;
          assemble = assemble pkgs;
        }
      );

      apps = forEachSystem (
        _: pkgs: {
          assemble = {
            type = "app";
            program = "${assemble pkgs}/bin/assemble";
          };
        }
      );

      # `nix run .#nixosConfigurations.vm.config.system.build.vm` boots it.
      nixosConfigurations.vm = lib.nixosSystem {
        modules = [
          self.nixosModules.default
          # The root file system and the boot loader.
          "${nixpkgs}/nixos/modules/virtualisation/qemu-vm.nix"
          ./nixos/examples/one-user.nix
          {
            nixpkgs.hostPlatform = "x86_64-linux";
            system.stateVersion = lib.trivial.release;
            # A machine to try things in, quickly.
            documentation.enable = false;
            services.getty.autologinUser = "root";
          }
        ];
      };

      devShells = forEachSystem (
        _: pkgs: {
          default = pkgs.mkShell {
            packages = with pkgs; [ caddy cargo cargo-nextest clippy nix procps rustc rustfmt tmux ];
          };
        }
      );

      # One check per promise; checks/default.nix says which are still to come.
      checks = forEachSystem (
        _: pkgs:
        import ./checks {
          inherit nixpkgs pkgs;
          module = ./nixos/agent-box.nix;
          source = self;
          assemble = assemble pkgs;
        }
      );
    };
}
