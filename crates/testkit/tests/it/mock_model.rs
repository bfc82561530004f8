//! The mock model answers over HTTP as the real APIs do.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use agent_box_testkit::mock_model::MockModel;

fn exchange(model: &MockModel, request: &str) -> String {
    let address = model.url().replace("http://", "");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn post(model: &MockModel, path: &str, body: &str) -> String {
    let length = body.len();
    exchange(model, &format!("POST {path} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}"))
}

#[test]
fn a_message_is_answered_whole_or_as_events() {
    let model = MockModel::start().unwrap();
    let whole = post(&model, "/v1/messages?beta=true", r#"{"model":"m"}"#);
    assert!(whole.contains(r#""content":[{"type":"text","text":"PONG"}]"#), "{whole}");
    let events = post(&model, "/v1/messages", r#"{"model":"m","stream":true}"#);
    assert!(events.contains("event: message_start\ndata: {"), "{events}");
    assert!(events.contains("event: message_stop\n"), "{events}");
    let events = post(&model, "/v1/responses", "{}");
    assert!(events.contains("event: response.completed\n"), "{events}");
}

#[test]
fn other_requests_get_their_empty_answers_and_are_noted() {
    let model = MockModel::start().unwrap();
    let tokens = post(&model, "/v1/messages/count_tokens", "{}");
    assert!(tokens.ends_with(r#"{"input_tokens":10}"#), "{tokens}");
    // Two requests on one connection, the second with a chunked body.
    let both = "GET /v1/models HTTP/1.1\r\n\r\n\
        POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let answers = exchange(&model, both);
    assert!(answers.contains(r#"{"data":[],"models":[]}"#), "{answers}");
    assert!(answers.contains("PONG"), "{answers}");
    let expected = ["POST /v1/messages/count_tokens", "GET /v1/models", "POST /v1/messages"];
    assert_eq!(model.requests(), expected);
}
