//! JSON-RPC 2.0, as much of it as MCP's stdio needs.

use serde_json::{Value, json};

/// Codes of protocol errors.
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Incoming {
    /// It wants an answer.
    Request { id: Value, method: String, params: Value },
    /// It wants none.
    Notification { method: String, params: Value },
    /// It wants an answer and cannot be understood.
    Invalid { id: Value },
    /// Not for us: no JSON, an answer to something, or nothing at all.
    Nothing,
}

/// Reads a line.
pub(super) fn parse(line: &[u8]) -> Incoming {
    let Ok(Value::Object(mut members)) = serde_json::from_slice(line) else {
        return Incoming::Nothing;
    };
    let method = members.remove("method");
    let params = members.remove("params").unwrap_or(Value::Null);
    let id = members.remove("id").filter(|id| id.is_string() || id.is_number());
    match (method, id) {
        (Some(Value::String(method)), Some(id)) => Incoming::Request { id, method, params },
        (Some(Value::String(method)), None) => Incoming::Notification { method, params },
        (Some(_), Some(id)) => Incoming::Invalid { id },
        _ => Incoming::Nothing,
    }
}

/// A successful answer.
pub(super) fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// An answer that the protocol itself was misused.
pub(super) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Something said without being asked.
pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_requests_are_answered() {
        let request =
            |id: Value| Incoming::Request { id, method: "ping".to_owned(), params: Value::Null };
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, request(json!(1))),
            (r#"{"id":"a","method":"ping","params":null}"#, request(json!("a"))),
            (r#"{"id":1,"method":7}"#, Incoming::Invalid { id: json!(1) }),
            (r#"{"id":1,"result":{}}"#, Incoming::Nothing),
            (r#"{"method":7}"#, Incoming::Nothing),
            ("[]", Incoming::Nothing),
            ("", Incoming::Nothing),
            ("nonsense", Incoming::Nothing),
        ] {
            assert_eq!(parse(line.as_bytes()), expected, "{line}");
        }
        let null = parse(br#"{"id":null,"method":"ping","params":[1]}"#);
        let expected = Incoming::Notification { method: "ping".to_owned(), params: json!([1]) };
        assert_eq!(null, expected);
    }

    proptest! {
        #[test]
        fn no_line_breaks_the_reader(line in any::<Vec<u8>>(), near in r#"[{}\[\]":,a-z0-9 ]{0,40}"#) {
            let _ = (parse(&line), parse(near.as_bytes()));
        }
    }
}
