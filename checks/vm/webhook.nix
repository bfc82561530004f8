# What GitHub sends, from the public address to the session that it starts.
{ lib, module, pkgs, ... }:
{
  name = "agent-box-webhook";

  nodes.machine = { config, ... }: {
    imports = [ (import ./stub-box.nix { inherit module pkgs; }) ];
    virtualisation.memorySize = 2048;
    services.agent-box = {
      users.alice = { };
      users.bob.agent = "shell";
      web = {
        enable = true;
        domain = "box.test";
      };
      webhook = {
        hookSessionArgs = [ "--model" "sonnet" ];
        watchPolicy."github:example/*".when = {
          path = "action";
          "in" = [ "opened" ];
        };
      };
    };
    # The box's own Caddyfile, but for the certificate: nobody out there can give one.
    services.caddy.configFile =
      let
        own = lib.findFirst (file: file.name == "agent-box-caddyfile") null config.services.agent-box.files;
      in
      lib.mkForce (pkgs.writeText "Caddyfile" (lib.replaceStrings [ "import acme_alpn_only" ] [ "tls internal" ] own.text));
    networking.hosts."127.0.0.1" = [ "box.test" ];
  };

  testScript = ''
    import json

    def as_alice(command):
        return machine.succeed(f"runuser -l alice -c '{command}'")

    def sessions():
        return json.loads(as_alice("cat .config/agent-box/sessions.json"))["sessions"]

    def hooks():
        return [name for name in sessions() if name.startswith("hook-")]

    def environment():
        return machine.succeed("tr '\\0' '\\n' < /proc/$(pgrep -u alice -x claude | head -n1)/environ").splitlines()

    def post(path, body="{}", *headers):
        machine.succeed(f"cat > /tmp/body <<'EOF'\n{body}\nEOF")
        words = " ".join(f"--header '{header}'" for header in headers)
        return machine.succeed(
            f"curl --silent --insecure --output /dev/null --write-out '%{{http_code}}' {words}"
            f" --data-binary @/tmp/body https://box.test{path}"
        )

    def signed(path, event, delivery, body):
        machine.succeed(f"cat > /tmp/body <<'EOF'\n{body}\nEOF")
        secret = as_alice("cat .local/state/local-webhook/github.secret").strip()
        digest = machine.succeed(f"openssl dgst -sha256 -hmac {secret} -r < /tmp/body").split()[0]
        return post(
            path, body, f"X-Hub-Signature-256: sha256={digest}", f"X-GitHub-Event: {event}", f"X-GitHub-Delivery: {delivery}"
        )

    def issue(number, action="opened"):
        return json.dumps({
            "action": action,
            "issue": {"number": number, "title": "It fails", "user": {"login": "somebody"}},
            "repository": {"full_name": "example/app"},
            "sender": {"login": "somebody"},
        })

    machine.wait_for_unit("multi-user.target")
    machine.wait_for_open_port(443)

    with subtest("the receiver is alice's, its socket hers and Caddy's"):
        machine.succeed("systemctl is-active agent-box-webhook-alice.socket agent-box-webhook-alice.service")
        assert machine.succeed("stat -c %a:%U:%G /run/agent-box-webhook/alice.sock").strip() == "660:alice:caddy"
        pid = machine.succeed("systemctl show --property MainPID --value agent-box-webhook-alice.service").strip()
        assert machine.succeed(f"stat -c %U /proc/{pid}").strip() == "alice"
        machine.fail("runuser -u bob -- curl --silent --unix-socket /run/agent-box-webhook/alice.sock http://box/")

    with subtest("agents know the address and their key"):
        machine.wait_until_succeeds("pgrep -u alice -x claude")
        assert "AGENT_BOX_WEBHOOK_URL=https://box.test/alice/webhook" in environment()
        assert "LOCAL_WEBHOOK_SESSION=alice-main" in environment()
        assert "LOCAL_WEBHOOK_PORT=0" in environment()

    with subtest("nothing is open before somebody opens it"):
        assert post("/alice/webhook/github") == "404"
        assert post("/alice/") == "404"
        assert post("/") == "404"

    with subtest("a source is set up"):
        assert "https://box.test/alice/webhook/github" in as_alice("agent-box webhook setup github")
        assert as_alice("stat -c %a:%U .local/state/local-webhook/github.secret").strip() == "600:alice"
        assert post("/alice/webhook/github") == "401"
        assert signed("/alice/webhook/github", "ping", "1", "{}") == "200"
        assert signed("/alice/webhook", "ping", "2", "{}") == "200"

    with subtest("a watch starts a session, within what the configuration declares"):
        as_alice("agent-box-webhook subscribe \"github:example/*\" --deliver-to subagent --note triage")
        assert signed("/alice/webhook/github", "issues", "3", issue(6, "closed")) == "200"
        assert signed("/alice/webhook/github", "issues", "4", issue(7)) == "200"
        with machine.nested("waiting for the session"):
            retry(lambda _: len(hooks()) == 1)
        assert sessions()[hooks()[0]]["extraArgs"] == ["--model", "sonnet"]
        machine.wait_until_succeeds("test $(pgrep -c -u alice -x claude) = 2")

    with subtest("a delivery sent while the receiver is down arrives"):
        machine.succeed("systemctl stop agent-box-webhook-alice.service")
        assert signed("/alice/webhook/github", "ping", "5", "{}") == "200"
        machine.succeed("systemctl is-active agent-box-webhook-alice.service")

    machine.fail("journalctl --quiet --priority err --unit 'agent-box-*' | grep .")
  '';
}
