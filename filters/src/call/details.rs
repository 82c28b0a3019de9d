//! What does a whole read of a body add to the model's name?

use crate::error_answer::ErrorAnswer;

/// How a transcript is written (contract section 1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transcript {
    /// JSON, with or without times.
    Json,
    /// Subtitles of SubRip.
    Srt,
    /// Plain text.
    Text,
    /// Subtitles of WebVTT.
    Vtt,
}

/// What is known of a call whose body was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The caller asked for an event stream.
    pub stream: bool,
    /// A string `options.profile`: the profile is served as named, and no policy applies.
    pub profile: Option<String>,
    /// Chat: the caller wants private reasoning.
    pub include_reasoning: bool,
    /// The caller wants usage at the end of its stream.
    pub include_usage: bool,
    /// Completions: how many prompts the call has, when that is known.
    pub prompts: Option<usize>,
    /// Chat and completions: how many choices the caller wants, over all prompts.
    pub choices: Option<usize>,
    /// Generation: the caller's own cap on tokens of one answer.
    pub output_cap: Option<u64>,
    /// Rerank: the most results the caller wants.
    pub top_n: Option<usize>,
    /// Generation: the caller wants log probabilities.
    pub logprobs: bool,
    /// Embeddings: the caller wants vectors in base64.
    pub wants_base64: bool,
    /// Embeddings: the Unicode characters of all inputs together.
    pub input_chars: u64,
    /// Audio: how the caller wants its transcript; none when it wants a stream, or something that nobody here reads.
    pub transcript: Option<Transcript>,
    /// The first violation of the surface's field rules; whoever reads the details decides when it counts.
    pub rejection: Option<Box<ErrorAnswer>>,
}

impl Details {
    /// What is known of a call whose body nobody had to read.
    pub const NONE: Self = Self {
        stream: false,
        profile: None,
        include_reasoning: false,
        include_usage: false,
        prompts: None,
        choices: None,
        output_cap: None,
        top_n: None,
        logprobs: false,
        wants_base64: false,
        input_chars: 0,
        transcript: None,
        rejection: None,
    };
}
