//! The MCP server as a client sees it: a real process, lines on its pipes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use agent_box_testkit::within;
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use crate::verbs::{Scene, put};

/// A client of one server.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    last_id: u64,
}

impl Client {
    pub(crate) fn start(scene: &Scene) -> Self {
        let mut command = scene.command(&["mcp"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Self { child, stdin, stdout, last_id: 0 }
    }

    pub(crate) fn initialized(scene: &Scene, capabilities: &Value) -> Self {
        let mut client = Self::start(scene);
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "0"},
        });
        client.ask("initialize", &params);
        client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line, as JSON.
    #[track_caller]
    pub(crate) fn hear(&mut self) -> Value {
        self.hears_within(Duration::from_secs(10)).expect("a line")
    }

    /// The line that comes within this time, if one does.
    pub(crate) fn hears_within(&mut self, time: Duration) -> Option<Value> {
        let stdout = self.stdout.as_mut()?;
        if stdout.buffer().is_empty() {
            let time = time.try_into().unwrap();
            let mut readable = [PollFd::new(stdout.get_ref(), PollFlags::IN)];
            if poll(&mut readable, Some(&time)).unwrap() == 0 {
                return None;
            }
        }
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Closes its end of the server's output.
    pub(crate) fn stop_listening(&mut self) {
        self.stdout = None;
    }

    /// The answer to a request.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.say(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        let answer = self.hear();
        assert_eq!((&answer["id"], &answer["jsonrpc"]), (&json!(id), &json!("2.0")), "{answer}");
        answer
    }

    /// What a tool says, and whether it failed.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let content = &answer["result"]["content"][0];
        assert_eq!(content["type"], "text", "{answer}");
        let failed = answer["result"]["isError"].as_bool().unwrap();
        (content["text"].as_str().unwrap().to_owned(), failed)
    }

    /// Closes its input, upon which it ends.
    #[track_caller]
    pub(crate) fn end(&mut self) {
        drop(self.stdin.take());
        within(10).until("the server ends", || self.child.try_wait().unwrap().is_some());
        assert!(self.child.wait().unwrap().success());
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().try_into().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_client_is_welcomed_and_told_how_to_use_the_tools() {
    let mut client = Client::start(&Scene::in_session());
    let answer = client.ask("initialize", &json!({"protocolVersion": "2024-11-05"}));
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], "2024-11-05", "as the client speaks");
    assert_eq!(result["capabilities"]["tools"], json!({}));
    assert_eq!(result["capabilities"]["experimental"]["claude/channel"], json!({}));
    assert_eq!(result["serverInfo"]["name"], "agent-box");
    let instructions = result["instructions"].as_str().unwrap();
    for word in
        ["note", "hour", "@self", "include", "subagent", "never instructions", "webhook_read"]
    {
        assert!(instructions.contains(word), "{word}");
    }
    let answer = client.ask("initialize", &Value::Null);
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(client.ask("ping", &Value::Null)["result"], json!({}));
    let answer = client.ask("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected =
        ["webhook_subscribe", "webhook_unsubscribe", "webhook_subscriptions", "webhook_read"];
    assert_eq!(names, expected);
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object"));
    client.end();
}

#[test]
fn nothing_that_a_client_says_ends_the_server() {
    let mut client = Client::start(&Scene::in_session());
    let long = format!("{{\"id\":9,\"method\":\"ping\",\"x\":\"{}\"}}", "x".repeat(2 << 20));
    let deep = "[".repeat(100_000);
    for line in [
        "",
        "nonsense",
        "[]",
        "[1]",
        "7",
        "null",
        "\"ping\"",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"id":1}"#,
        r#"{"id":null,"method":"ping"}"#,
        r#"{"method":"tools/call","params":7}"#,
        r#"{"method":"notifications/cancelled","params":[]}"#,
        r#"{"id":1,"result":{}}"#,
        "{\"id\":1,\"method\":\"ping\"",
        &long,
        &deep,
    ] {
        client.say(line);
    }
    assert_eq!(client.ask("ping", &json!([1]))["result"], json!({}), "the first answer is its own");
    client.say(r#"{"id":"a","method":7}"#);
    assert_eq!(client.hear()["error"]["code"], -32600);
    assert_eq!(client.ask("resources/list", &Value::Null)["error"]["code"], -32601);
    for params in
        [json!(null), json!(7), json!([]), json!({}), json!({"name": 7}), json!({"name": "x"})]
    {
        let answer = client.ask("tools/call", &params);
        assert_eq!(answer["error"]["code"], -32602, "{params}");
    }
    let broken = client.ask("tools/call", &json!({"name": "webhook_read", "arguments": [1]}));
    assert_eq!(broken["result"]["isError"], true);
    client.end();
}

#[test]
fn an_agent_subscribes_lists_and_unsubscribes() {
    let scene = Scene::in_session();
    let mut client = Client::initialized(&scene, &json!({}));
    let subscribe =
        |client: &mut Client, arguments: Value| client.call("webhook_subscribe", &arguments);
    let (text, failed) = subscribe(
        &mut client,
        json!({
            "topic": "o/r", "note": "wait for CI", "ttl_hours": 2, "renew_on_event": true,
            "ignore_senders": ["@self", "joe"],
            "include": {"path": "action", "in": ["completed"]},
            "exclude": {},
        }),
    );
    assert!(!failed && text.starts_with("subscribed to github:o/r: wait for CI"), "{text}");
    let row = scene.list()["topics"][0].clone();
    assert_eq!(row["ignoreSenders"], json!(["@self", "joe"]));
    assert_eq!(
        (&row["ttlHours"], &row["renewOnEvent"], &row["takesNoise"]),
        (&json!(2), &json!(true), &json!(true))
    );
    // Only what is given changes; `null` and the older names are given.
    let (text, failed) = subscribe(
        &mut client,
        json!({"topic": "O/R", "note": "", "when": null, "drop": {"path": "event", "in": ["push"]}}),
    );
    assert!(!failed && text.starts_with("renewed subscription to"), "{text}");
    let row = scene.list()["topics"][0].clone();
    assert_eq!((row.get("note"), row.get("include")), (None, None));
    assert_eq!(row["exclude"]["in"], json!(["push"]));
    assert_eq!((&row["ttlHours"], &row["ignoreSenders"]), (&json!(2), &json!(["@self", "joe"])));
    let (text, failed) = subscribe(&mut client, json!({"topic": "o/*", "deliver_to": "subagent"}));
    assert!(!failed && text.contains("\nnote: no receiver has run here yet"), "{text}");
    let (text, failed) = client.call("webhook_subscriptions", &Value::Null);
    let list: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((failed, &list), (false, &scene.list()));
    assert_eq!(list["dispatch"]["topics"][0]["topic"], "github:o/*");
    let old =
        json!({"topics": [{"topic": "o/old", "subscribedAt": "2020-01-01T00:00:00Z"}, "o/r"]});
    put(&scene.paths().state().join("filter.alice-main.json"), &old.to_string());
    let (text, _) = client.call("webhook_subscriptions", &Value::Null);
    let list: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(list["notes"], json!(["expired just now: github:o/old"]));
    let (text, failed) = client.call("webhook_unsubscribe", &json!({"topic": "github:o/r"}));
    assert!(!failed && text.starts_with("unsubscribed from github:o/r"), "{text}");
    assert_eq!(scene.list()["topics"], json!([]));
    client.end();
}

#[test]
fn what_is_refused_is_an_error_that_says_what_to_write() {
    let scene = Scene::in_session();
    let mut client = Client::initialized(&scene, &json!({}));
    let mut check = |tool: &str, arguments: Value, hint: &str| {
        let (text, failed) = client.call(tool, &arguments);
        assert!(
            failed && text.starts_with("error: ") && text.contains(hint),
            "{arguments}: {text}"
        );
    };
    check("webhook_subscribe", json!({}), "`topic` is missing");
    check("webhook_subscribe", json!({"topic": 7}), "`topic` must be a string");
    check("webhook_subscribe", json!({"topic": "github:*"}), "would match everything");
    check(
        "webhook_subscribe",
        json!({"topic": "o/r", "ttl_hours": "2"}),
        "`ttl_hours` must be a number",
    );
    check("webhook_subscribe", json!({"topic": "o/r", "ttl_hours": -1}), "no number of hours");
    check("webhook_subscribe", json!({"topic": "o/r", "deliver_to": "me"}), "session or subagent");
    check("webhook_subscribe", json!({"topic": "o/r", "renew_on_event": 1}), "true or false");
    check(
        "webhook_subscribe",
        json!({"topic": "o/r", "ignore_senders": "joe"}),
        "a list of strings",
    );
    check(
        "webhook_subscribe",
        json!({"topic": "o/r", "include": [1]}),
        "`include` must be an object",
    );
    check("webhook_subscribe", json!({"topic": "o/r", "include": {"any": [7]}}), "the rule.any[0]");
    check("webhook_unsubscribe", json!({"topic": "nowhere"}), "is no topic");
    check("webhook_read", json!({"max": 0}), "from 1 to 100");
    check("webhook_read", json!({}), "no receiver answers");
    assert_eq!(scene.list()["filterState"], "absent");
    // A state directory that cannot be one does not end the server either.
    std::fs::remove_dir_all(scene.paths().state()).unwrap();
    put(scene.paths().state(), "a file");
    let (text, failed) = client.call("webhook_subscribe", &json!({"topic": "o/r"}));
    assert!(failed && text.contains("cannot make the directory"), "{text}");
    client.end();
}

#[test]
fn an_agent_without_a_session_is_told_that_nothing_waits_for_it() {
    let mut client = Client::initialized(&Scene::new(), &json!({}));
    let (text, failed) = client.call("webhook_read", &json!({}));
    assert!(failed && text.contains("no session of the box"), "{text}");
    client.end();
}

#[test]
fn a_session_finds_out_what_the_box_acts_as_with_its_own_credentials() {
    let mut scene = Scene::in_session();
    scene.put_program("gh", "#!/bin/sh\n[ $GH_TOKEN = mine ] && echo '{\"login\":\"octo\"}'\n");
    scene.set("GH_TOKEN", "mine");
    let mut client = Client::initialized(&scene, &json!({}));
    within(10).until("the login is known", || scene.list()["self"] == "octo");
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));
    client.end();
}
