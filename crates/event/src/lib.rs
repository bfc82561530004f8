//! The vocabulary of agent-box webhooks and every decision about a delivery, as pure functions.
//!
//! Owns: sources, delivery ids, keys, topics and patterns, the rule language, subscriptions and
//! standing watches with the JSON of their files, declared policies, what counts as noise and as a
//! failing CI outcome, claims, the dispatch (window, cap, fairness, budgets), retries, what an
//! event says in one line, untrusted text and its frame, and the contract between receiver and
//! spawn wrapper. Refuses to know: HTTP, signatures, files, databases,
//! clocks, sessions and tmux. Time is an argument, in milliseconds since 1970; payloads are read
//! through [`Payload`], so that nothing here parses bytes.
//!
//! ```
//! use agent_box_event::{EventKey, Source, Topic, TopicPattern};
//! let topic = Topic::new(Source::parse("github").unwrap(), EventKey::parse("o/r").unwrap());
//! assert!(TopicPattern::parse("GitHub:O/*").unwrap().matches(&topic));
//! assert!(TopicPattern::parse("github:*").is_err(), "there is no catch-all");
//! ```
//!
//! **Invariants**
//! - Nothing fails open: without a key, a topic or a readable rule nothing is delivered.
//! - No payload yields a line that reads as trusted, even one that knows the message's fence.
//! - Muting yourself never hides your own CI result; the noise layer does not switch that off.
//! - What stands in a filter file and is not understood stays in it, whatever is edited.
//! - A batch that must wait stays waiting: no function here drops one.
//! - Members of a batch keep the order in which they were received, and every waiting key gets
//!   its turn: a busy key goes behind all that waited when it last started.
//! - Distinct batches of one inbox have distinct session names.

mod assignment;
mod association;
mod attempt;
mod batch;
mod budget;
mod ci;
mod claim;
mod delivery;
mod dispatch;
mod event;
mod filter_document;
mod frame;
mod json;
mod noise;
mod object;
mod policy;
mod predicate;
mod rfc3339;
mod route;
mod source;
mod subscription;
mod topic;
mod untrusted;
mod watch;

pub mod contract;
pub mod summary;

pub use assignment::is_assignment;
pub use association::{Association, passes_association};
pub use attempt::{MAX_ATTEMPTS, NextStep, after_exit};
pub use batch::{BatchId, HookName, ParseBatchIdError, hook_name};
pub use budget::{Budget, Budgets, Exhausted, Start};
pub use ci::{is_ci, is_failing};
pub use claim::{Claim, Holder, LEASE_MS, Lease};
pub use delivery::{
    Arrival, BodyDigest, DeliveryId, DeliveryState, ParseDeliveryIdError, REMEMBER_MS, Remembered,
    WaitReason, judge_arrival, may_forget,
};
pub use dispatch::{Batch, Dispatch, Held, Hold, Lane, Limits, Member, dispatch};
pub use event::Event;
pub use filter_document::{Expiry, FilterDocument, FilterRow, Subscribed, Wish};
pub use frame::{Fence, Frame, FrameLine, Line, read_frame};
pub use json::{Json, Number, Payload, Value, derive_text};
pub use noise::is_noise;
pub use object::{Object, objects_of};
pub use policy::{DeclaredRules, Policy};
pub use predicate::{Predicate, PredicateError, Test};
pub use rfc3339::{parse_rfc3339, print_rfc3339};
pub use route::{Audience, Refusal, Routed, Verdict, route};
pub use source::{Login, ParseLoginError, ParseSourceError, Source};
pub use subscription::{Filter, Muted, Subscription};
pub use topic::{EventKey, ParseKeyError, ParsePatternError, Topic, TopicPattern};
pub use untrusted::{Cut, Untrusted, sanitize};
pub use watch::{Consideration, LISTENER_MS, Listener, Ownership, consider};
