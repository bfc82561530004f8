//! The daemon as a whole: one at a time, said in a file, ended and started again.

use serde_json::Value;

use crate::receiver::Receiver;

#[test]
fn a_second_receiver_is_refused_by_name_and_the_first_goes_on() {
    let mut receiver = Receiver::new();
    let said: Value =
        serde_json::from_str(&receiver.read(".local/state/local-webhook/receiver.json")).unwrap();
    assert_eq!(said["pid"], std::process::id());
    assert_eq!(said["spawn"], true);
    assert_eq!(said["ingress"]["path"], receiver.paths.ingress().to_str().unwrap());
    let mut second = Receiver::beside(&receiver);
    second.start();
    let error = second.stop().unwrap_err().to_string();
    assert!(error.contains("another receiver"), "{error}");
    assert_eq!(receiver.send("a", "o/r", 1), 200, "its sockets are still its own");
    receiver.stop().unwrap();
}

#[test]
fn a_receiver_that_was_ended_goes_on_where_it_was() {
    let mut receiver = Receiver::new();
    receiver.subscribe(Some("dispatch"), &["github:o/*"]);
    receiver.sessions(4, &[]);
    assert_eq!(receiver.send("a", "o/r", 1), 200);
    receiver.wait_state("a", "waiting (cap)");
    receiver.stop().unwrap();
    receiver.sessions(0, &[]);
    receiver.start();
    receiver.wait_state("a", "spawned");
    assert_eq!(receiver.send("a", "o/r", 1), 200, "known after the restart");
    receiver.stop().unwrap();
    assert_eq!(receiver.runs().len(), 1);
}
