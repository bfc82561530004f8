//! A filter file as its JSON stands: what counts of it, and all the rest, kept.
//!
//! People, the reference's tools and ours write the same files. So whatever is read is written
//! back: unknown members, the order of rows, rows that can never match. Each row keeps its raw
//! JSON, and an edit changes in it what was meant to change and nothing else.
//!
//! Noise is asked for by `"exclude": {}` or `"takesNoise": true`. Other readers do not know the
//! second and lose at most the noise; the first becomes the second when a rule takes its place.
//! The noise set that the reference writes into new rows as an `exclude` is left where it stands
//! and not written by us, for there it would hide a session's own CI results from it.

mod members;
mod row;
mod rules;

use crate::{Audience, Cut, Filter, Json, Muted, Predicate, Subscription, TopicPattern, sanitize};

pub use row::{Expiry, FilterRow};
pub(crate) use rules::Rules;

use members::{TTL_HOURS, hours, ignored, position, set};
use row::Row;

const ENABLED: &str = "enabled";
const TOPICS: &str = "topics";
/// The list's name before there were sources; its rows are GitHub repositories.
const REPOS: &str = "repos";

/// A filter file's content.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterDocument {
    /// The file's members; the list of rows is taken out of its member and stands in `rows`.
    members: Vec<(String, Json)>,
    /// Which member is the list of rows; none in a file that has no such list.
    list: Option<usize>,
    /// Every row of the list, in its order.
    rows: Vec<Row>,
    /// What counts; its rows are the live ones of `rows`, in their order.
    filter: Filter,
    problems: Vec<String>,
}

/// What a request to subscribe says; what it does not say stays as a row has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wish {
    /// Why; empty removes the note.
    pub note: Option<String>,
    /// How long; 0 is for ever.
    pub ttl_ms: Option<u64>,
    /// Whether each delivery starts its time again.
    pub renew_on_event: Option<bool>,
    /// Whose events are not wanted; empty mutes nobody.
    pub muted: Option<Vec<Muted>>,
    /// What alone is wanted; an inner `None` removes the rule.
    pub include: Option<Option<Predicate>>,
    /// What is not wanted; an inner `None` removes the rule and asks for noise too.
    pub exclude: Option<Option<Predicate>>,
}

/// What became of a [`Wish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscribed {
    /// There was no row of this pattern.
    New,
    /// There was one, and its time begins again.
    Renewed,
}

impl Default for FilterDocument {
    /// The document of a file that does not exist yet: switched on, without rows.
    fn default() -> Self {
        Self::from_members(vec![
            (ENABLED.to_owned(), Json::Bool(true)),
            (TOPICS.to_owned(), Json::List(Vec::new())),
        ])
    }
}

impl FilterDocument {
    /// The longest note, in characters.
    pub const MAX_NOTE: usize = 300;

    /// Reads a file's JSON; `None` if it is no object. Whatever else is odd is kept, has no
    /// effect, and stands among the [problems](Self::problems) or those of its row.
    pub fn read(json: &Json) -> Option<Self> {
        match json {
            Json::Object(members) => Some(Self::from_members(members.clone())),
            _ => None,
        }
    }

    fn from_members(mut members: Vec<(String, Json)>) -> Self {
        let mut list = None;
        let mut items = Vec::new();
        for name in [TOPICS, REPOS] {
            if list.is_none()
                && let Some(at) = position(&members, name)
                && let Json::List(found) = &mut members[at].1
            {
                (list, items) = (Some(at), std::mem::take(found));
            }
        }
        let filter = Filter { enabled: true, ttl_ms: None, rows: Vec::new() };
        let problems = Vec::new();
        let mut document = Self { members, list, rows: Vec::new(), filter, problems };
        document.read_settings();
        for item in items {
            document.push(item);
        }
        document
    }

    fn read_settings(&mut self) {
        self.problems.clear();
        let member = |name| position(&self.members, name).map(|at| &self.members[at].1);
        let (enabled, ttl) = (member(ENABLED), member(TTL_HOURS));
        // Anything but `true` mutes: nothing fails open.
        self.filter.enabled = matches!(enabled, None | Some(Json::Bool(true)));
        if enabled.is_some_and(|it| !matches!(it, Json::Bool(_))) {
            self.problems.push(format!("`{ENABLED}` is neither true nor false, so all is muted"));
        }
        self.filter.ttl_ms = ttl.and_then(hours);
        if ttl.is_some() && self.filter.ttl_ms.is_none() {
            self.problems.push(ignored(TTL_HOURS, "no number of hours"));
        }
        if self.list.is_none() {
            self.problems.push(format!("there is no list `{TOPICS}`, so nothing is subscribed"));
        }
    }

    fn push(&mut self, raw: Json) {
        let (row, subscription) = Row::read(raw);
        self.rows.push(row);
        self.filter.rows.extend(subscription);
    }

    /// The file's JSON: what was read, and what was changed since.
    pub fn to_json(&self) -> Json {
        let mut members = self.members.clone();
        if let Some(at) = self.list {
            members[at].1 = Json::List(self.rows.iter().map(|row| row.raw.clone()).collect());
        }
        Json::Object(members)
    }

    /// What counts. Places in its rows are not places in the file: dead rows are left out.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Whether the file has a list of rows at all; without one it delivers nothing.
    pub fn is_configured(&self) -> bool {
        self.list.is_some()
    }

    /// What is odd about the file apart from its rows, each with its effect.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Every row of the file, for a list that people and programs read.
    pub fn rows(&self, now_ms: u64) -> Vec<FilterRow<'_>> {
        let mut live = self.filter.rows.iter();
        let listed = self.rows.iter().map(|row| {
            let subscription = if row.is_live() { live.next() } else { None };
            row.listed(subscription, self.filter.ttl_ms, now_ms)
        });
        listed.collect()
    }

    /// Subscribes, or renews the row of the same pattern, and switches the filter on. A standing
    /// watch lasts for ever if the wish does not say how long; a session's row as long as rows of
    /// its file do.
    pub fn subscribe(
        &mut self,
        pattern: &TopicPattern,
        wish: &Wish,
        audience: Audience,
        now_ms: u64,
    ) -> Subscribed {
        self.set_enabled(true);
        self.make_list();
        let known = self.filter.rows.iter().position(|row| row.pattern.is_same(pattern));
        let place = known.unwrap_or_else(|| {
            self.push(Json::text(pattern.to_string()));
            self.filter.rows.len() - 1
        });
        let outcome = if known.is_some() { Subscribed::Renewed } else { Subscribed::New };
        self.edit(place, |row| {
            if outcome == Subscribed::New && audience == Audience::Standing {
                row.ttl_ms = Some(0);
            }
            row.subscribed_ms = Some(now_ms);
            // Whoever asks for a topic gets all of it, though it was started for a part.
            row.objects.clear();
            wish.apply(row, audience);
        });
        outcome
    }

    /// Removes every row of a pattern, and every row that is listed under exactly this text; so
    /// rows that can never match are got rid of too. Returns how many there were.
    pub fn unsubscribe(&mut self, text: &str) -> usize {
        let pattern = TopicPattern::parse(text).ok();
        let before = self.rows.len();
        self.retain(|row, subscription| {
            let is_meant = subscription
                .zip(pattern.as_ref())
                .is_some_and(|(subscription, pattern)| subscription.pattern.is_same(pattern));
            !is_meant && row.text() != text
        });
        before - self.rows.len()
    }

    /// Removes what has expired and returns it, for the one line that tells about it.
    pub fn prune(&mut self, now_ms: u64) -> Vec<Subscription> {
        let ttl = self.filter.ttl_ms;
        let mut expired = Vec::new();
        self.retain(|_, subscription| {
            let over = subscription.filter(|it| it.is_expired(ttl, now_ms));
            expired.extend(over.cloned());
            over.is_none()
        });
        expired
    }

    /// Notes that the row of a pattern has delivered; see [`Subscription::note_delivery`].
    /// `false` if there is no such row any more.
    pub fn note_delivery(&mut self, pattern: &TopicPattern, now_ms: u64) -> bool {
        let place = self.filter.rows.iter().position(|row| row.pattern.is_same(pattern));
        if let Some(place) = place {
            self.edit(place, |row| row.note_delivery(now_ms));
        }
        place.is_some()
    }

    /// Mutes every row, or ends that.
    pub fn set_enabled(&mut self, enabled: bool) {
        if self.filter.enabled != enabled {
            set(&mut self.members, ENABLED, Some(Json::Bool(enabled)));
            self.read_settings();
        }
    }

    /// Changes a live row; its raw JSON gets what the change changed.
    fn edit(&mut self, place: usize, change: impl FnOnce(&mut Subscription)) {
        self.make_list();
        let before = &self.filter.rows[place];
        let mut after = before.clone();
        change(&mut after);
        let row = self.rows.iter_mut().filter(|row| row.is_live()).nth(place);
        let row = row.expect("BUG: the filter's rows are the live ones");
        self.filter.rows[place] = row.update(before, &after);
    }

    fn retain(&mut self, mut keep: impl FnMut(&Row, Option<&Subscription>) -> bool) {
        let mut live = std::mem::take(&mut self.filter.rows).into_iter();
        let before = self.rows.len();
        let kept = &mut self.filter.rows;
        self.rows.retain(|row| {
            let subscription = if row.is_live() { live.next() } else { None };
            let is_kept = keep(row, subscription.as_ref());
            kept.extend(subscription.filter(|_| is_kept));
            is_kept
        });
        if self.rows.len() < before {
            self.make_list();
        }
    }

    /// Before rows are changed: the list is the member `topics`, whatever it was.
    fn make_list(&mut self) {
        if self.list.is_some_and(|at| self.members[at].0 == TOPICS) {
            return;
        }
        // Names were short in the old list only.
        let mut live = self.filter.rows.iter();
        for row in &mut self.rows {
            let Some(subscription) = (if row.is_live() { live.next() } else { None }) else {
                continue;
            };
            if let Json::Text(text) = &mut row.raw {
                *text = subscription.pattern.to_string();
            }
        }
        let old = self.list.take();
        let unreadable = position(&self.members, TOPICS);
        if let Some(at) = unreadable {
            // A single row that somebody forgot to put into a list, or rubbish: a row of its own.
            let value = std::mem::replace(&mut self.members[at].1, Json::List(Vec::new()));
            if value != Json::Null {
                self.push(value);
            }
            if let Some(old) = old {
                self.members.remove(old);
            }
        } else if let Some(old) = old {
            TOPICS.clone_into(&mut self.members[old].0);
        } else {
            self.members.push((TOPICS.to_owned(), Json::List(Vec::new())));
        }
        self.list = position(&self.members, TOPICS);
        self.read_settings();
    }
}

impl Wish {
    fn apply(&self, row: &mut Subscription, audience: Audience) {
        if let Some(note) = &self.note {
            let cut = Cut { chars: FilterDocument::MAX_NOTE, ..Cut::NONE };
            row.note = Some(sanitize(note, cut)).filter(|note| !note.is_empty());
        }
        if let Some(ttl_ms) = self.ttl_ms {
            row.ttl_ms = Some(ttl_ms);
        }
        if let Some(renew) = self.renew_on_event {
            row.renew_on_event = renew;
        }
        if let Some(muted) = &self.muted {
            row.muted.clone_from(muted);
        }
        if let Some(include) = &self.include {
            row.include.clone_from(include);
        }
        if let Some(exclude) = &self.exclude {
            row.exclude.clone_from(exclude);
            row.takes_noise |= exclude.is_none() && audience == Audience::Session;
        }
    }
}

#[cfg(test)]
mod tests;
