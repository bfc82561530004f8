//! Between the JSON that is parsed here and the JSON of the contract.

use agent_box_event::{Json, Number};
use serde_json::Value;

/// One line, as programs read it.
pub fn line(json: &Json) -> String {
    to_value(json).to_string()
}

pub(crate) fn to_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(it) => Value::Bool(*it),
        Json::Number(it) => it
            .as_integer()
            .and_then(serde_json::Number::from_i128)
            .or_else(|| serde_json::Number::from_f64(it.as_f64()))
            .map_or(Value::Null, Value::Number),
        Json::Text(it) => Value::String(it.clone()),
        Json::List(items) => Value::Array(items.iter().map(to_value).collect()),
        Json::Object(members) => {
            Value::Object(members.iter().map(|(name, it)| (name.clone(), to_value(it))).collect())
        }
    }
}

pub(crate) fn from_value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(it) => Json::Bool(*it),
        Value::Number(it) => {
            let number = it.as_i128().map(Number::integer);
            number.or_else(|| it.as_f64().and_then(Number::float)).map_or(Json::Null, Json::Number)
        }
        Value::String(it) => Json::Text(it.clone()),
        Value::Array(items) => Json::List(items.iter().map(from_value).collect()),
        Value::Object(members) => {
            Json::Object(members.iter().map(|(name, it)| (name.clone(), from_value(it))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_keep_values_and_order() {
        let text = r#"{"z":[1,-2,2.5,true,null,"ü"],"a":{"b":18446744073709551615}}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(line(&from_value(&value)), text);
    }
}
