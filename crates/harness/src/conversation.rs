//! Conversations: the agents' own threads, and which one a session may continue.

use uuid::Uuid;

/// Whether `text` can be a conversation id; only such texts become part of a file name.
pub(crate) fn is_conversation_id(text: &str) -> bool {
    text.len() == 36 && Uuid::try_parse(text).is_ok()
}

/// An id that no conversation has yet.
pub(crate) fn fresh() -> String {
    Uuid::new_v4().to_string()
}

/// The conversation of a launch.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) conversation: String,
    pub(crate) resumed: bool,
    pub(crate) notes: Vec<String>,
}

impl Choice {
    /// A new conversation; `reasons` say why no earlier one goes on.
    pub(crate) fn anew(conversation: String, reasons: Vec<String>) -> Self {
        let notes =
            reasons.into_iter().map(|why| format!("{why}: a new conversation begins")).collect();
        Self { conversation, resumed: false, notes }
    }
}

/// The conversations that may be this session's, the likeliest first.
pub(crate) struct Candidates<'a> {
    /// Ids that launches of this session were given.
    launched: Vec<&'a str>,
    rotation: &'a dyn Fn(&str) -> Option<String>,
    others: &'a [String],
    /// Whether an agent of this session ran before.
    pub(crate) was_started: bool,
}

impl<'a> Candidates<'a> {
    /// Collects what the request knows.
    pub(crate) fn of(request: &crate::Request<'a>) -> Self {
        let record = request.record;
        let listed = request.entry.conversation.as_deref();
        let recorded = record.and_then(|record| record.conversation.as_deref());
        let was_started = record.is_some_and(agent_box_session::LaunchRecord::was_started);
        // A started launch mirrored its conversation into the registry: another one there was
        // written by hand since, and counts.
        let launched = if was_started { [listed, recorded] } else { [recorded, listed] };
        let mut candidates = Self {
            launched: launched.into_iter().flatten().collect(),
            rotation: request.rotation,
            others: request.others,
            was_started: was_started || request.entry.has_run,
        };
        candidates.launched.dedup();
        candidates
    }

    /// Whether a launch was given `id`.
    pub(crate) fn is_launched(&self, id: &str) -> bool {
        self.launched.contains(&id)
    }

    /// The launched ids that are ours; why not becomes a note.
    pub(crate) fn launched(&self, notes: &mut Vec<String>) -> Vec<String> {
        self.launched
            .iter()
            .filter(|id| self.is_ours(id, notes))
            .map(|id| (*id).to_owned())
            .collect()
    }

    /// The same, each preceded by the conversation that its process moved on to.
    pub(crate) fn moved_first(&self, notes: &mut Vec<String>) -> Vec<String> {
        let mut ids = Vec::new();
        for id in self.launched(notes) {
            let moved = (self.rotation)(&id).filter(|to| *to != id);
            ids.extend(moved.filter(|to| self.is_ours(to, notes)));
            ids.push(id);
        }
        ids
    }

    fn is_ours(&self, id: &str, notes: &mut Vec<String>) -> bool {
        if !is_conversation_id(id) {
            notes.push(format!("`{id}` is not a conversation id"));
            return false;
        }
        if self.others.iter().any(|other| other == id) {
            notes.push(format!("conversation {id} belongs to another session"));
            return false;
        }
        true
    }
}
