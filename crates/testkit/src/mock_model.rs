//! A model that always says PONG, on a loopback port, so that the real CLIs run offline.
//!
//! Speaks just enough HTTP/1.1 of the Anthropic messages API and of the OpenAI responses API.

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

/// A running mock model; its thread lives as long as the process.
#[derive(Debug)]
pub struct MockModel {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl MockModel {
    /// Starts one on a free port.
    ///
    /// # Errors
    /// When no loopback port can be had.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = seen.clone();
                std::thread::spawn(move || serve(&stream, &seen));
            }
        });
        Ok(Self { address, requests })
    }

    /// The base URL, as `ANTHROPIC_BASE_URL` takes it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `METHOD PATH` of every request so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The environment that claude needs to talk to this model without a dialog, besides
    /// `HOME`: the files are [`claude_files`](Self::claude_files).
    pub fn claude_environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("ANTHROPIC_BASE_URL", self.url()),
            ("ANTHROPIC_AUTH_TOKEN", "made-up".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ]
    }

    /// The text of `~/.claude.json` that trusts a directory.
    pub fn claude_files(directory: &str) -> String {
        let trusted = json!({ "hasTrustDialogAccepted": true });
        json!({ "hasCompletedOnboarding": true, "projects": { directory: trusted } }).to_string()
    }

    /// The text of `~/.codex/config.toml` that makes codex talk to this model.
    pub fn codex_config(&self) -> String {
        let url = self.url();
        format!(
            "model = \"mock-model\"\nmodel_provider = \"mock\"\n\n[model_providers.mock]\n\
             name = \"mock\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n"
        )
    }
}

struct Answer {
    content_type: &'static str,
    body: String,
}

impl Answer {
    fn json(value: &Value) -> Self {
        Self { content_type: "application/json", body: value.to_string() }
    }

    fn events(events: &[Value]) -> Self {
        let line = |event: &Value| {
            let name = event["type"].as_str().unwrap_or_default();
            format!("event: {name}\ndata: {event}\n\n")
        };
        let body = events.iter().map(line).collect();
        Self { content_type: "text/event-stream", body }
    }
}

/// Answers the requests of one connection until it closes.
fn serve(stream: &TcpStream, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some((line, body)) = read_request(&mut reader) {
        let mut words = line.split_whitespace();
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{method} {path}"));
        let Answer { content_type, mut body } = answer(method, path, &body);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        if method == "HEAD" {
            body.clear();
        }
        if writer.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

/// The request line and the body; `None` at the end of the connection.
fn read_request(reader: &mut impl io::BufRead) -> Option<(String, Vec<u8>)> {
    let mut first = String::new();
    if reader.read_line(&mut first).ok()? == 0 {
        return None;
    }
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).ok()? == 0 {
            return None;
        }
        let header = header.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        chunked |= header.starts_with("transfer-encoding:") && header.ends_with("chunked");
    }
    let mut body = Vec::new();
    if !chunked {
        reader.take(length).read_to_end(&mut body).ok()?;
        return Some((first, body));
    }
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).ok()?;
        let size = u64::from_str_radix(size.trim().split(';').next()?, 16).ok()?;
        reader.by_ref().take(size).read_to_end(&mut body).ok()?;
        reader.read_line(&mut String::new()).ok()?;
        if size == 0 {
            return Some((first, body));
        }
    }
}

fn answer(method: &str, path: &str, body: &[u8]) -> Answer {
    if method != "POST" {
        return Answer::json(&json!({ "data": [], "models": [] }));
    }
    if path.contains("count_tokens") {
        return Answer::json(&json!({ "input_tokens": 10 }));
    }
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    if path.contains("/messages") {
        return anthropic(&request);
    }
    if path.contains("/responses") {
        return openai();
    }
    Answer::json(&json!({}))
}

fn anthropic(request: &Value) -> Answer {
    let mut message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": request["model"],
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": 10, "output_tokens": 1,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        },
    });
    if request["stream"] != Value::Bool(true) {
        message["content"] = json!([{ "type": "text", "text": "PONG" }]);
        message["stop_reason"] = "end_turn".into();
        return Answer::json(&message);
    }
    Answer::events(&[
        json!({ "type": "message_start", "message": message }),
        json!({
            "type": "content_block_start", "index": 0,
            "content_block": { "type": "text", "text": "" },
        }),
        json!({
            "type": "content_block_delta", "index": 0,
            "delta": { "type": "text_delta", "text": "PONG" },
        }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta", "usage": { "output_tokens": 2 },
            "delta": { "stop_reason": "end_turn", "stop_sequence": null },
        }),
        json!({ "type": "message_stop" }),
    ])
}

fn openai() -> Answer {
    let item = json!({
        "type": "message", "role": "assistant", "id": "m1", "status": "completed",
        "content": [{ "type": "output_text", "text": "PONG", "annotations": [] }],
    });
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null,
        "output_tokens": 1, "output_tokens_details": null, "total_tokens": 2,
    });
    Answer::events(&[
        json!({ "type": "response.created", "response": { "id": "r1" } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({
            "type": "response.completed",
            "response": { "id": "r1", "usage": usage, "output": [item] },
        }),
    ])
}
