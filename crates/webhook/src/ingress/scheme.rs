//! How each kind of sender proves itself, and where it names what happened.
//!
//! A scheme is a row of defaults; every header and path of it can be set per source.

use base64::Engine as _;

use crate::inbox::Format;

use super::secret::{Secret, SecretProblem};

/// How a sender signs. [`Scheme::as_str`] is its name in `sources.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// GitHub: hexadecimal over the body.
    GitHub,
    /// Gitea and Forgejo: the same under other headers.
    Gitea,
    /// Bitbucket: the same.
    Bitbucket,
    /// Linear: the same.
    Linear,
    /// Stripe: hexadecimal over time and body, several at once.
    Stripe,
    /// Slack: hexadecimal over version, time and body; asks for a challenge back.
    Slack,
    /// Standard Webhooks (Svix and others): base64 over id, time and body, several at once.
    StandardWebhooks,
    /// Shopify: base64 over the body.
    Shopify,
    /// GitLab: the secret itself.
    GitlabToken,
    /// Any sender that signs as GitHub does.
    Hex,
    /// Any sender that signs as Shopify does.
    Base64,
}

/// The shape of what stands in the signature header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// 64 hexadecimal digits, with `sha256=` or without.
    Hex,
    /// 44 characters of base64, with `sha256=` or without.
    Base64,
    /// `t=SECONDS,v1=HEX,v1=HEX`.
    Stripe,
    /// `v0=HEX`, the time in a header of its own.
    Slack,
    /// `v1,BASE64 v1,BASE64`, id and time in headers of their own.
    Standard,
    /// The secret.
    Token,
}

/// The defaults of a scheme; header names in lower case.
#[derive(Debug)]
pub(crate) struct Profile {
    scheme: Scheme,
    word: &'static str,
    pub(crate) shape: Shape,
    pub(crate) format: Format,
    pub(crate) signature_header: &'static str,
    /// Where the kind of event stands; empty for none.
    pub(crate) event_header: &'static str,
    /// Where it stands in the body, after the header; the first that is there counts.
    pub(crate) event_paths: &'static [&'static str],
    pub(crate) delivery_header: &'static str,
    pub(crate) delivery_path: Option<&'static str>,
    pub(crate) key_header: &'static str,
    pub(crate) key_path: Option<&'static str>,
    pub(crate) sender_paths: &'static [&'static str],
    /// Where the body says when it was sent, in milliseconds; checked like a signed header.
    pub(crate) time_path: Option<&'static str>,
    /// Whether the sender makes the secret, so that one of ours would be of no use.
    pub(crate) has_senders_secret: bool,
}

const ANY_EVENT: &[&str] = &["event", "type"];

/// Of a sender of which nothing is known.
const GENERIC: Profile = Profile {
    scheme: Scheme::Hex,
    word: "hex",
    shape: Shape::Hex,
    format: Format::Generic,
    signature_header: "x-hub-signature-256",
    event_header: "x-webhook-event",
    event_paths: ANY_EVENT,
    delivery_header: "x-webhook-delivery",
    delivery_path: None,
    key_header: "",
    key_path: None,
    sender_paths: &[],
    time_path: None,
    has_senders_secret: false,
};

/// GitHub's, and what is like it.
const GITHUB: Profile = Profile {
    scheme: Scheme::GitHub,
    word: "github",
    format: Format::GitHub,
    event_header: "x-github-event",
    delivery_header: "x-github-delivery",
    key_path: Some("repository.full_name"),
    sender_paths: &["sender.login"],
    ..GENERIC
};

static PROFILES: [Profile; 11] = [
    GITHUB,
    Profile {
        scheme: Scheme::Gitea,
        word: "gitea",
        signature_header: "x-gitea-signature",
        event_header: "x-gitea-event",
        delivery_header: "x-gitea-delivery",
        ..GITHUB
    },
    Profile {
        scheme: Scheme::Bitbucket,
        word: "bitbucket",
        signature_header: "x-hub-signature",
        event_header: "x-event-key",
        delivery_header: "x-request-uuid",
        key_path: Some("repository.full_name"),
        sender_paths: &["actor.nickname"],
        ..GENERIC
    },
    Profile {
        scheme: Scheme::Linear,
        word: "linear",
        signature_header: "linear-signature",
        event_header: "linear-event",
        delivery_header: "linear-delivery",
        key_path: Some("organizationId"),
        sender_paths: &["actor.name"],
        time_path: Some("webhookTimestamp"),
        has_senders_secret: true,
        ..GENERIC
    },
    Profile {
        scheme: Scheme::Stripe,
        word: "stripe",
        shape: Shape::Stripe,
        signature_header: "stripe-signature",
        event_header: "",
        event_paths: &["type"],
        delivery_header: "",
        delivery_path: Some("id"),
        key_path: Some("data.object.object"),
        has_senders_secret: true,
        ..GENERIC
    },
    Profile {
        scheme: Scheme::Slack,
        word: "slack",
        shape: Shape::Slack,
        signature_header: "x-slack-signature",
        event_header: "",
        event_paths: &["event.type", "type"],
        delivery_header: "",
        delivery_path: Some("event_id"),
        key_path: Some("event.channel"),
        sender_paths: &["event.user"],
        has_senders_secret: true,
        ..GENERIC
    },
    Profile {
        scheme: Scheme::StandardWebhooks,
        word: "standard-webhooks",
        shape: Shape::Standard,
        signature_header: "webhook-signature",
        event_header: "",
        delivery_header: "webhook-id",
        has_senders_secret: true,
        ..GENERIC
    },
    Profile {
        scheme: Scheme::Shopify,
        word: "shopify",
        shape: Shape::Base64,
        signature_header: "x-shopify-hmac-sha256",
        event_header: "x-shopify-topic",
        delivery_header: "x-shopify-webhook-id",
        key_header: "x-shopify-shop-domain",
        has_senders_secret: true,
        ..GENERIC
    },
    Profile {
        scheme: Scheme::GitlabToken,
        word: "gitlab-token",
        shape: Shape::Token,
        signature_header: "x-gitlab-token",
        event_header: "x-gitlab-event",
        // The same for each attempt; x-gitlab-event-uuid is shared by hooks that cause each other.
        delivery_header: "idempotency-key",
        key_path: Some("project.path_with_namespace"),
        sender_paths: &["user.username", "user_username"],
        ..GENERIC
    },
    GENERIC,
    Profile { scheme: Scheme::Base64, word: "base64", shape: Shape::Base64, ..GENERIC },
];

impl Scheme {
    /// All of them, as help lists them.
    pub fn all() -> impl Iterator<Item = Self> {
        PROFILES.iter().map(|profile| profile.scheme)
    }

    /// Its name in `sources.json`.
    pub fn as_str(self) -> &'static str {
        self.profile().word
    }

    /// Reads what [`Scheme::as_str`] wrote.
    pub fn parse(word: &str) -> Option<Self> {
        PROFILES.iter().find(|profile| profile.word == word).map(|profile| profile.scheme)
    }

    /// What `setup` takes for a source of this name.
    pub fn of_name(source: &str) -> Self {
        match source.to_ascii_lowercase().as_str() {
            "forgejo" | "codeberg" => Self::Gitea,
            "gitlab" => Self::GitlabToken,
            "svix" => Self::StandardWebhooks,
            name => Self::parse(name).unwrap_or(Self::Hex),
        }
    }

    /// Of a source that names none: as the reference reads it.
    pub(crate) fn unsaid(source: &str, format: Option<&str>) -> Self {
        match format {
            Some("github") => Self::GitHub,
            Some("generic") => Self::Hex,
            _ if source == "github" => Self::GitHub,
            _ => Self::Hex,
        }
    }

    /// Whether the sender makes the secret itself.
    pub fn has_senders_secret(self) -> bool {
        self.profile().has_senders_secret
    }

    pub(crate) fn profile(self) -> &'static Profile {
        let found = PROFILES.iter().find(|profile| profile.scheme == self);
        found.expect("BUG: every scheme has a row, a test looks")
    }

    /// The key that a secret's text stands for.
    pub(crate) fn key_of(self, text: &str) -> Result<Secret, SecretProblem> {
        if self.profile().shape != Shape::Standard {
            return Secret::new(text);
        }
        let encoded = text.strip_prefix("whsec_").unwrap_or(text);
        let decoded = base64::engine::general_purpose::STANDARD.decode(encoded);
        Secret::new(decoded.map_err(|_| SecretProblem::NotBase64)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_has_one_row_under_its_own_name() {
        let all: Vec<Scheme> = Scheme::all().collect();
        for (index, scheme) in all.iter().enumerate() {
            assert_eq!(Scheme::parse(scheme.as_str()), Some(*scheme));
            assert!(!all[..index].contains(scheme), "{scheme:?} twice");
            // A scheme without a row fails to compile nowhere else, so name each here.
            match scheme {
                Scheme::GitHub
                | Scheme::Gitea
                | Scheme::Bitbucket
                | Scheme::Linear
                | Scheme::Stripe
                | Scheme::Slack
                | Scheme::StandardWebhooks
                | Scheme::Shopify
                | Scheme::GitlabToken
                | Scheme::Hex
                | Scheme::Base64 => {}
            }
        }
        assert_eq!(all.len(), 11);
        assert_eq!(Scheme::parse("sha1"), None);
    }

    #[test]
    fn well_known_names_have_their_senders_scheme() {
        assert_eq!(Scheme::of_name("github"), Scheme::GitHub);
        assert_eq!(Scheme::of_name("Forgejo"), Scheme::Gitea);
        assert_eq!(Scheme::of_name("stripe"), Scheme::Stripe);
        assert_eq!(Scheme::of_name("my-ci"), Scheme::Hex);
    }

    #[test]
    fn a_standard_webhooks_secret_is_decoded_and_others_are_taken_as_they_are() {
        let key = Scheme::StandardWebhooks.key_of("whsec_MDEyMzQ1Njc4OWFiY2RlZg==").unwrap();
        assert_eq!(key.bytes(), b"0123456789abcdef");
        let key = Scheme::StandardWebhooks.key_of("MDEyMzQ1Njc4OWFiY2RlZg==").unwrap();
        assert_eq!(key.bytes(), b"0123456789abcdef");
        let stripe = Scheme::Stripe.key_of("whsec_MDEyMzQ1Njc4OWFiY2RlZg==").unwrap();
        assert_eq!(stripe.bytes(), b"whsec_MDEyMzQ1Njc4OWFiY2RlZg==");
        let refused = |text| Scheme::StandardWebhooks.key_of(text).unwrap_err().to_string();
        assert!(refused("whsec_no base64 at all!").contains("whsec_"));
        assert!(refused("whsec_MDEyMw==").contains("4 bytes"));
    }
}
