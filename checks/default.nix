# The checks of the flake, one a promise. Two more, `settings-page` and `download-route`, come with
# the web pages that they are about. The last ones are virtual machines.
#
# nixpkgs    the flake's input
# pkgs       its packages for the system that checks
# module     nixos/agent-box.nix
# source     the whole repository
# assemble   the package of the program that renders the module
{ nixpkgs, pkgs, module, source, assemble }:
let
  inherit (pkgs) lib;

  examples = lib.mapAttrs' (name: _: lib.nameValuePair (lib.removeSuffix ".nix" name) (source + "/nixos/examples/${name}")) (
    lib.filterAttrs (name: _: lib.hasSuffix ".nix" name) (builtins.readDir (source + "/nixos/examples"))
  );

  # A system that could be installed, as far as evaluation goes.
  evaluate =
    module: configuration:
    (nixpkgs.lib.nixosSystem {
      modules = [
        module
        configuration
        {
          nixpkgs.hostPlatform = pkgs.stdenv.hostPlatform.system;
          fileSystems."/" = { device = "/dev/vda"; fsType = "ext4"; };
          boot.loader.grub.device = "/dev/vda";
          system.stateVersion = lib.trivial.release;
          # The manual is nixpkgs' own matter.
          documentation.enable = false;
        }
      ];
    }).config;

  # Succeeds if there is nothing to complain about.
  complaints = name: list: pkgs.runCommand name { text = lib.concatMapStrings (it: "${it}\n") list; } ''
    if [ -n "$text" ]; then printf %s "$text" >&2; exit 1; fi
    touch "$out"
  '';
  expect = condition: complaint: lib.optional (!condition) complaint;

  # Evaluated to the end, nothing of it built.
  wholeSystem = config: builtins.unsafeDiscardStringContext config.system.build.toplevel.drvPath;

  vm = test: pkgs.testers.runNixOSTest (import test { inherit lib module pkgs; });
in
{
  module-generated-up-to-date = pkgs.runCommand "module-generated-up-to-date" { } ''
    ${assemble}/bin/assemble --check --repo ${source}
    touch "$out"
  '';

  assemble-escaping = assemble.overrideAttrs { doCheck = true; };

  # The module from a store path of its own, with nothing beside it.
  module-single-file =
    let
      alone = builtins.path { path = module; name = "agent-box.nix"; };
      system = name: example: expect (lib.hasSuffix ".drv" (wholeSystem (evaluate alone example))) "no system ${name} from a lone module";
    in
    complaints "module-single-file" (lib.concatLists (lib.mapAttrsToList system examples));

  examples = complaints "examples" (
    lib.concatLists (lib.mapAttrsToList (
      name: example:
      let
        config = evaluate module example;
      in
      map (it: "${name}: ${it.message}") (lib.filter (it: !it.assertion) config.assertions)
      ++ map (it: "${name}: ${it}") config.warnings
    ) examples)
  );

  # Every assertion names the option and the way out, and nothing else is complained of.
  refusals =
    let
      failed = configuration: map (it: it.message) (lib.filter (it: !it.assertion) (evaluate module configuration).assertions);
      refusal =
        name: { configuration, says }:
        let
          said = failed configuration;
        in
        expect (lib.length said == lib.length says && lib.all (it: it) (lib.zipListsWith lib.hasInfix says said))
          "${name}: the module says ${builtins.toJSON said}";
      # These would be one unit, which no assertion can come before.
      clash =
        users:
        expect (!(builtins.tryEval (lib.attrNames (evaluate module { services.agent-box = { enable = true; inherit users; }; }).systemd.services)).success)
          "${toString (lib.attrNames users)}: two of one name are taken";
    in
    complaints "refusals" (
      lib.concatLists (lib.mapAttrsToList refusal (import ./refusals.nix))
      ++ lib.concatMap clash [ { update = { }; } { spot-monitor = { }; } { a = { }; a-tmux = { }; } { a = { }; webhook-a = { }; } ]
    );

  # What sessions inherit: the user's own variables win, and the box has a name in the vendors' apps.
  environment =
    let
      of = more: (evaluate module { services.agent-box = { enable = true; users.alice = { }; } // more; }).systemd.services.agent-box-alice.environment;
      label = more: (of more).AGENT_BOX_HOST_LABEL or "the kernel's";
      web = { enable = true; domain = "box.example.org"; };
    in
    complaints "environment" (
      expect (label { remoteControlHost = "named"; inherit web; } == "named") "a given name is not used"
      ++ expect (label { remoteControlHost = ""; inherit web; } == "box.example.org") "the domain is not used"
      ++ expect (label { remoteControlHost = ""; } == "the kernel's") "there is a name where none was given"
      ++ expect ((of { users.alice.environment.AGENT_BOX_DEFAULT_AGENT = "mine"; }).AGENT_BOX_DEFAULT_AGENT == "mine") "the user's variable does not win"
    );

  # Whoever makes the package set sets its configuration; the module adds nothing to it.
  external-nixpkgs =
    let
      config = evaluate module {
        nixpkgs = { inherit pkgs; };
        # claude-code is not free; who brings the packages says whether that may be.
        services.agent-box = { enable = true; agent = "codex"; installAgents = [ "codex" ]; users.alice = { }; };
      };
    in
    complaints "external-nixpkgs" (map (it: it.message) (lib.filter (it: !it.assertion) config.assertions));

  multi-user =
    let
      inherit (evaluate module examples.two-users) systemd;
      services = [
        "agent-box-alice" "agent-box-alice-tmux" "agent-box-webhook-alice"
        "agent-box-bob" "agent-box-bob-tmux" "agent-box-webhook-bob"
      ];
    in
    complaints "multi-user" (
      lib.concatMap (name: expect (systemd.services ? ${name}) "there is no ${name}.service") services
      # A switch must end no agent.
      ++ lib.concatMap (name: expect (!systemd.services.${name}.restartIfChanged) "a switch restarts ${name}.service")
        [ "agent-box-alice-tmux" "agent-box-bob-tmux" ]
      # Nor may it refuse a delivery.
      ++ lib.concatMap (name: expect (!systemd.services.${name}.stopIfChanged) "a switch stops ${name}.socket")
        [ "agent-box-webhook-alice" "agent-box-webhook-bob" ]
    );

  # As Caddy itself understands the file: webhooks go straight to the receivers.
  webhook-route =
    let
      config = evaluate module examples.two-users;
    in
    pkgs.runCommand "webhook-route" { nativeBuildInputs = [ pkgs.caddy pkgs.jq ]; } ''
      export HOME=$PWD
      caddy adapt --validate --adapter caddyfile --config ${config.services.caddy.configFile} > caddy.json
      for user in ${toString (lib.attrNames config.services.agent-box.users)}; do
        jq --exit-status --arg user "$user" --from-file ${./webhook-route.jq} caddy.json > complaints || true
        if ! jq --exit-status '. == [ ]' complaints; then cat complaints caddy.json >&2; exit 1; fi
      done
      touch "$out"
    '';

  golden = pkgs.runCommand "golden" { nativeBuildInputs = [ pkgs.jq pkgs.perl ]; } (
    ''
      jq . ${builtins.toFile "options.json" (builtins.toJSON (import ./golden/options.nix { inherit module nixpkgs; }))} > options.json
      diff -u ${./golden/options.json} options.json
    ''
    + lib.concatMapStrings (
      name:
      let
        texts = import ./golden/golden.nix {
          inherit module nixpkgs;
          configuration = examples.${name};
        };
        json = builtins.toFile "${name}.json" (builtins.unsafeDiscardStringContext (builtins.toJSON texts));
      in
      ''
        bash ${./golden/lay-out.sh} ${json} ${name}
        diff -ru ${./golden + "/${name}"} ${name}
      ''
    ) (lib.attrNames examples)
    + ''
      touch "$out"
    ''
  );
}
# Virtual machines: they need a builder with KVM.
// lib.optionalAttrs (pkgs.stdenv.hostPlatform.system == "x86_64-linux") {
  sessions = vm ./vm/sessions.nix;
  webhook = vm ./vm/webhook.nix;
  memory-protection = vm ./vm/memory-protection.nix;
  update-keeps-agents = vm ./vm/update-keeps-agents.nix;
}
