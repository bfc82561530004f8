//! Declared sessions are listed once.

use crate::home::{Home, name, put};

const DECLARED: &str = r#"{"version":1,"sessions":{
  "main":{"agent":"claude","workingDirectory":"/home/a","boxSessionId":null,"hasRun":false,"own":1.0},
  "aux":{"agent":"shell"},
  "bad":{"agent":7}}}"#;

#[test]
fn declared_sessions_are_merged_once_and_removed_ones_stay_removed() {
    let home = Home::new();
    let id = home.add("main");
    let file = home.path().join("declared.json");
    put(&file, DECLARED.as_bytes());
    let seeded = home.store.seed(&file).unwrap();
    assert_eq!(seeded.added, [name("aux")]);
    assert_eq!(seeded.unusable, [("bad".to_owned(), "`agent` is not a text".to_owned())]);
    let registry = home.store.read().unwrap().registry;
    assert_eq!(registry.entry(&name("main")).unwrap().id, Some(id), "never clobbered");
    assert!(registry.entry(&name("aux")).unwrap().id.is_some());
    home.delist("aux");
    assert_eq!(home.store.seed(&file).unwrap().added, []);
    // A declaration that came later is listed.
    put(&file, DECLARED.replace("aux", "later").as_bytes());
    assert_eq!(home.store.seed(&file).unwrap().added, [name("later")]);
    assert_eq!(home.names(), ["main", "later"]);
}

#[test]
fn a_fresh_box_gets_all_declared_sessions_with_their_unknown_fields() {
    let home = Home::new();
    let file = home.path().join("declared.json");
    put(&file, DECLARED.as_bytes());
    assert_eq!(home.store.seed(&file).unwrap().added, [name("main"), name("aux")]);
    assert!(home.text().contains("\"own\": 1.0"));
    home.delist("main");
    home.delist("aux");
    assert_eq!(home.store.seed(&file).unwrap().added, []);
}

#[test]
fn a_damaged_registry_is_not_seeded_over() {
    let home = Home::with("");
    let file = home.path().join("declared.json");
    put(&file, DECLARED.as_bytes());
    assert!(home.store.seed(&file).is_err());
    assert_eq!(home.bytes(), b"");
    put(&file, b"{");
    home.write(b"{\"sessions\":{}}");
    assert!(home.store.seed(&file).is_err());
    assert_eq!(home.bytes(), b"{\"sessions\":{}}");
}
