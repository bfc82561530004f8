# Webhooks of the golden box: from its public address, through a real Caddy with the golden
# Caddyfile, to a message and to a session.

echo "-- webhooks"
domain=box.example.org
state=/home/alice/.local/state/local-webhook
mkdir -p /run/front
{
  printf '{\n\tadmin off\n\tskip_install_trust\n}\n'
  # Nobody out there can give this box a certificate.
  sed 's/import acme_alpn_only/tls internal/' "$golden/store/agent-box-caddyfile"
  # What Amazon tells a spot machine about itself, for spot.sh.
  cat <<'CADDY'
http://169.254.169.254 {
	@token method PUT
	respond @token a-token
	@stranger not header X-aws-ec2-metadata-token a-token
	respond @stranger 401
	respond /latest/meta-data/instance-life-cycle spot
	@back {
		path /latest/meta-data/spot/instance-action
		file {
			root /run/front
			try_files taken-back
		}
	}
	respond @back "{}"
	respond 404
}
CADDY
} > /run/front/Caddyfile
systemctl stop caddy.service
systemd-run --quiet --unit front --property User=caddy --property AmbientCapabilities=CAP_NET_BIND_SERVICE \
  --setenv HOME=/var/lib/caddy caddy run --adapter caddyfile --config /run/front/Caddyfile

# post PATH [CURL WORDS...]: the status that the sender gets.
post() {
  local path=$1
  shift
  curl --silent --insecure --max-time 30 --resolve "$domain:443:127.0.0.1" --output /run/front/answer \
    --write-out '%{http_code}' "$@" "https://$domain$path"
}
answers() { [ "$(post "${@:2}")" = "$1" ]; }
# signed PATH EVENT DELIVERY BODY: sent as GitHub would.
signed() {
  local digest
  digest=$(printf %s "$4" | openssl dgst -sha256 -hmac "$(cat $state/github.secret)" -r)
  post "$1" --header "X-Hub-Signature-256: sha256=${digest%% *}" --header "X-GitHub-Event: $2" \
    --header "X-GitHub-Delivery: $3" --header 'Content-Type: application/json' --data-binary "$4"
}
takes() { [ "$(signed "$@")" = 200 ]; }
issue() { # ACTION NUMBER TITLE
  jq -nc --arg action "$1" --argjson number "$2" --arg title "$3" '{action: $action,
    issue: {number: $number, title: $title, user: {login: "somebody"}},
    repository: {full_name: "example/app"}, sender: {login: "somebody"}}'
}

for user in alice bob; do
  systemctl enable --quiet "agent-box-webhook-$user.socket" "agent-box-webhook-$user.service"
  check "$user's socket is there" systemctl start "agent-box-webhook-$user.socket"
done
socket=/run/agent-box-webhook/alice.sock
check "it is alice's and Caddy's, and nobody else's" test "$(stat -c %a:%U:%G $socket)" = 660:alice:caddy
check "bob cannot reach it" bash -c "! runuser -u bob -- curl --silent --unix-socket $socket http://box/"
check "the receiver starts" systemctl start agent-box-webhook-alice.service
check "it runs as alice" test "$(stat -c %U "/proc/$(main_pid agent-box-webhook-alice)")" = alice
check "its files are alice's alone" test "$(stat -c %a:%U $state)" = 700:alice
check "it says where it listens" jq -e --arg path $socket '.ingress.path == $path and .spawn' $state/receiver.json
check "agents know the address and their key" jq -se '[.[] | select(.session == "main")] | last.environment |
  .AGENT_BOX_WEBHOOK_URL == "https://box.example.org/alice/webhook" and .LOCAL_WEBHOOK_SESSION == "alice-main"
  and .LOCAL_WEBHOOK_PORT == "0"' "$launches"

resolves() { [ "$(as alice env LOCAL_WEBHOOK_SELF=box-login agent-box-webhook-self --throttled)" = box-login ]; }
check "alice can ask what the box acts as" resolves

check "nothing is taken before somebody says whose" answers 404 /alice/webhook/github --data x
check "it is the receiver that says so" grep -q 'unknown source' /run/front/answer
for path in / /alice /alice/ /alice/webhooks /alice/webhookgithub /carol/webhook; do
  check "$path is not there" answers 404 "$path" --data x
done
setup() { as alice agent-box webhook setup github | grep -F "https://$domain/alice/webhook/github"; }
check "setup says what to enter at GitHub" setup
check "the secret is alice's alone" test "$(stat -c %a:%U $state/github.secret)" = 600:alice
check "what is not signed is refused" answers 401 /alice/webhook/github --header 'X-GitHub-Event: ping' --data '{}'
check "what is signed is taken" takes /alice/webhook/github ping p1 '{}'
check "the bare address is GitHub's" takes /alice/webhook ping p2 '{}'
too_large() {
  head -c 40000000 /dev/zero | answers 413 /alice/webhook/github --header Expect: --data-binary @- \
    --header "X-Hub-Signature-256: sha256=$(printf '0%.0s' $(seq 64))"
}
check "what is larger than any event is refused" too_large

subscribe() { as alice env LOCAL_WEBHOOK_SESSION=alice-main agent-box webhook subscribe example/app --note "why I wait"; }
check "a session subscribes" subscribe
check "an event it waits for is taken" takes /alice/webhook/github issues i1 "$(issue opened 1 'for main')"
told() { as alice agent-box webhook read --session main --keep | grep -F 'UNTRUSTED' | grep -F 'for main'; }
check "it waits for the session, framed" told

watch() { as alice agent-box-webhook subscribe 'github:example/*' --deliver-to subagent --note 'triage it'; }
check "a standing watch is set" watch
check "an event for the watch is taken" takes /alice/webhook/github issues i2 "$(issue opened 2 'start somebody')"
hook() { jq -re '[.sessions | keys[] | select(startswith("hook-example-app-"))] | select(length == 1) | first' "$registry"; }
check "it starts one session" hook
check "with what the configuration adds" jq -e --arg name "$(hook)" '.sessions[$name].extraArgs == ["--model", "it'\''s a model"]' "$registry"
check "which runs" is_state alice "$(hook)" live
check "and was told once" jq -se --arg name "$(hook)" '[.[] | select(.session == $name)] | length == 1 and .[0].prompt != null' "$launches"

echo "-- the receiver comes and goes"
check "stop" systemctl stop agent-box-webhook-alice.service
check "a delivery sent meanwhile starts it and is taken" takes /alice/webhook/github ping d0 '{}'
# Twenty senders, and a receiver that restarts under them; once it is killed.
restarts() {
  local n pids=()
  : > /run/front/statuses
  for n in $(seq 20); do
    (sleep "0.$((n * 4))"; echo "$(signed /alice/webhook/github ping "r$n" "{\"n\":$n}")" >> /run/front/statuses) &
    pids+=($!)
  done
  for n in 1 2 3; do systemctl restart agent-box-webhook-alice.service; done
  wait "${pids[@]}"
  [ "$(sort -u /run/front/statuses)" = 200 ] && [ "$(wc -l < /run/front/statuses)" = 20 ]
}
if restarts; then passed "deliveries sent while it restarts are taken"; else failed "deliveries sent while it restarts are taken: $(tr '\n' ' ' < /run/front/statuses)"; fi
listed() { as alice agent-box webhook deliveries --json -n 100 | jq -e --arg id "$1" 'any(.. | strings; . == $id)'; }
for n in d0 r1 r20; do check "$n has arrived" listed "$n"; done
killed=$(main_pid agent-box-webhook-alice)
kill -KILL "$killed"
check "what is sent to a killed one is taken" takes /alice/webhook/github ping k1 '{}'
check "it still knows what waits for the session" told
check "no second session was started" hook
