//! What an upstream is, as the deployment file defines it. A credential is a name here, never a value.

use crate::breaker;
use crate::rate_cap;
use crate::surface::Surface;
use crate::url::{BaseUrl, Url};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A remote host that may serve what the engine refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Its name in the configuration and in `X-SIE-Upstream`.
    pub name: UpstreamName,
    /// Which protocol it speaks.
    pub kind: Kind,
    /// Where it is.
    pub base_url: BaseUrl,
    /// Where its key comes from, when it needs one.
    pub credential: Option<CredentialRef>,
    /// How much it may be asked.
    pub rate_cap: rate_cap::Settings,
    /// When it is left alone.
    pub breaker: breaker::Settings,
    /// Top-level fields of OpenAI requests that the operator sets (value: JSON text) or strips.
    pub params: Params,
    /// How long each step may take.
    pub timeouts: Timeouts,
    /// Files that replace the public certificate authorities or prove who we are.
    pub tls: TlsFiles,
    /// An HTTP proxy on the way out.
    pub proxy_url: Option<Url>,
}

impl Upstream {
    /// The surface on which this upstream is asked for a call of `surface`; none when it cannot serve it.
    ///
    /// A SIE upstream has every surface. An OpenAI host is asked in the caller's own protocol where it declares that endpoint, else
    /// in a translation (contract section 6). `is_onboarded`: the model's chat template is known here, so that its chats can be
    /// rendered for raw completions.
    #[must_use]
    pub fn asked_on(&self, surface: Surface, is_onboarded: bool) -> Option<Surface> {
        let Kind::Openai(endpoints) = &self.kind else { return Some(surface) };
        let candidates: &[Surface] = match surface {
            Surface::Audio | Surface::Extract => &[],
            Surface::Chat if is_onboarded => &[Surface::Completions, Surface::Chat],
            Surface::Chat => &[Surface::Chat],
            Surface::Completions | Surface::Generate => &[Surface::Completions],
            Surface::Embeddings | Surface::Encode => &[Surface::Embeddings],
            Surface::Rerank | Surface::Score => &[Surface::Rerank],
            Surface::Responses => &[Surface::Chat],
        };
        candidates.iter().copied().find(|candidate| endpoints.iter().any(|endpoint| endpoint.surface() == *candidate))
    }
}

/// Lower-case letters, digits and inner hyphens, at most 63 (contract section 4).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpstreamName(String);

impl UpstreamName {
    /// Checks and keeps a name.
    ///
    /// # Errors
    /// The name does not match `[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?`.
    pub fn parse(text: &str) -> Result<Self, BadUpstreamName> {
        let bytes = text.as_bytes();
        let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let well_formed = (1..=63).contains(&bytes.len())
            && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
            && bytes.first().is_some_and(alphanumeric)
            && bytes.last().is_some_and(alphanumeric);
        if well_formed { Ok(Self(text.into())) } else { Err(BadUpstreamName) }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An upstream's name is not well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 63 lower-case letters, digits and inner hyphens")]
pub struct BadUpstreamName;

/// The protocol an upstream speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An OpenAI-compatible host with these endpoints, at least one.
    Openai(Vec<Endpoint>),
    /// Another SIE.
    Sie,
}

impl Kind {
    /// The name in the configuration and in `/v1/models`.
    #[must_use]
    pub const fn token(&self) -> &'static str {
        match self {
            Self::Openai(_) => "openai",
            Self::Sie => "sie",
        }
    }
}

/// One endpoint an OpenAI-compatible upstream declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/chat/completions`
    Chat,
    /// `/completions`
    Completions,
    /// `/embeddings`
    Embeddings,
    /// `/rerank`
    Rerank,
}

impl Endpoint {
    /// Every endpoint, in the order of its name.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Completions, Self::Embeddings, Self::Rerank];

    /// The name in the configuration.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Embeddings => "embeddings",
            Self::Rerank => "rerank",
        }
    }

    /// The surface it serves.
    #[must_use]
    pub const fn surface(self) -> Surface {
        match self {
            Self::Chat => Surface::Chat,
            Self::Completions => Surface::Completions,
            Self::Embeddings => Surface::Embeddings,
            Self::Rerank => Surface::Rerank,
        }
    }
}

/// Where a key is read from, at each use. The key itself is never held here.
#[derive(Clone, PartialEq, Eq)]
pub enum CredentialRef {
    /// The name of an environment variable.
    Env(String),
    /// A file that is read again when it changes.
    File(String),
}

impl fmt::Debug for CredentialRef {
    /// Without the variable's name: an operator may have pasted the key itself there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(_) => f.write_str("Env(…)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// Fields of an OpenAI request that the operator sets or strips.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Name and JSON text.
    pub set: Vec<(String, String)>,
    /// Names.
    pub strip: Vec<String>,
}

/// How long each step of an upstream attempt may take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Connection and TLS handshake.
    pub connect_ms: u64,
    /// Until the head of the answer, and for streams until the first content.
    pub first_byte_ms: u64,
    /// Between two pieces of an answer.
    pub idle_ms: u64,
    /// A whole buffered call.
    pub total_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect_ms: 5_000, first_byte_ms: 60_000, idle_ms: 300_000, total_ms: 600_000 }
    }
}

/// TLS files of an upstream connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate authorities instead of the public ones.
    pub ca_file: Option<String>,
    /// Our certificate and key, for upstreams that ask who we are.
    pub client: Option<(String, String)>,
}
