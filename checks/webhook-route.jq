# Whether Caddy, as it understands the box's Caddyfile, hands a user's webhooks to the receiver and
# nothing else. Called with --arg user; the answer is a list of complaints.
def handlers: [.. | objects | select(has("handler")) | select(.handler != "subroute")];
[.. | objects | select(has("match")) | select(.match[0] | has("path"))] as $routes
| "/\($user)/webhook" as $prefix
| [$routes[] | select(.match == [{path: [$prefix, "\($prefix)/*"]}])] as $mine
| ([.. | objects | .routes // empty | select(any(.[]; .match == [{path: [$prefix, "\($prefix)/*"]}]))][0] // []) as $beside
| [
    if ($mine | length) == 1 then empty else "there are \($mine | length) routes for \($prefix)" end,
    if [$mine[] | handlers[] | .handler] == ["request_body", "rewrite", "reverse_proxy"] then empty
    else "they pass through \([$mine[] | handlers[] | .handler])" end,
    if [$mine[] | handlers[] | .strip_path_prefix // empty] == [$prefix] then empty
    else "the prefix is not stripped" end,
    if [$mine[] | handlers[] | .upstreams // empty] == [[{dial: "unix//run/agent-box-webhook/\($user).sock"}]] then empty
    else "they do not end at the receiver" end,
    # Of what is tried before, nothing answers but other users' receivers, and nothing asks who is there.
    ($beside[:[$beside[].match == [{path: [$prefix, "\($prefix)/*"]}]] | index(true)][]
      | if has("match") then .match | select(tojson | test("^\\[{\"path\":\\[\"/[^/]+/webhook\",\"/[^/]+/webhook/\\*\"\\]}\\]$") | not)
        else handlers[] | .handler | select(. != "headers") end
      | "\(.) stands before them"),
    if [$beside[-1] // {match: null} | has("match"), (handlers[] | .handler, .status_code)] == [false, "static_response", 404] then empty
    else "another path is not answered with 404" end
  ]
