//! Which inference surfaces exist, and what is true of each.

/// One inference API, whichever paths reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Surface {
    /// `POST /v1/audio/transcriptions`
    Audio,
    /// `POST /v1/chat/completions`
    Chat,
    /// `POST /v1/completions`
    Completions,
    /// `POST /v1/embeddings`
    Embeddings,
    /// `POST /v1/encode/{model}`
    Encode,
    /// `POST /v1/extract/{model}`
    Extract,
    /// `POST /v1/generate/{model}`
    Generate,
    /// `POST /v1/rerank` and `POST /v2/rerank`
    Rerank,
    /// `POST /v1/responses`
    Responses,
    /// `POST /v1/score/{model}`
    Score,
}

impl Surface {
    /// Every surface, in the order of its name.
    pub const ALL: [Self; 10] = [
        Self::Audio,
        Self::Chat,
        Self::Completions,
        Self::Embeddings,
        Self::Encode,
        Self::Extract,
        Self::Generate,
        Self::Rerank,
        Self::Responses,
        Self::Score,
    ];

    /// The name used in logs and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Embeddings => "embeddings",
            Self::Encode => "encode",
            Self::Extract => "extract",
            Self::Generate => "generate",
            Self::Rerank => "rerank",
            Self::Responses => "responses",
            Self::Score => "score",
        }
    }

    /// SIE's own protocol: the model stands in the path, errors are `{"detail": {...}}`.
    #[must_use]
    pub const fn is_native(self) -> bool {
        matches!(self, Self::Encode | Self::Extract | Self::Generate | Self::Score)
    }

    /// Answers are vectors or scores that callers store and compare, so two sides under one name need equivalence (product section 6).
    #[must_use]
    pub const fn needs_equivalence(self) -> bool {
        matches!(self, Self::Embeddings | Self::Encode | Self::Rerank | Self::Score)
    }

    /// Text generation whose retryable failures are called RESOURCE_EXHAUSTED instead of QUEUE_FULL (contract section 5 item 9).
    #[must_use]
    pub const fn exhausts_resources(self) -> bool {
        matches!(self, Self::Completions | Self::Generate | Self::Responses)
    }

    /// The answer may be an event stream when the call asks for one.
    #[must_use]
    pub const fn may_stream(self) -> bool {
        matches!(self, Self::Chat | Self::Completions | Self::Generate | Self::Responses)
    }

    /// The task of a model's `tasks` table that this surface belongs to.
    #[must_use]
    pub const fn task(self) -> Task {
        match self {
            Self::Audio => Task::Transcribe,
            Self::Chat | Self::Completions | Self::Generate | Self::Responses => Task::Generate,
            Self::Embeddings | Self::Encode => Task::Encode,
            Self::Extract => Task::Extract,
            Self::Rerank | Self::Score => Task::Score,
        }
    }
}

/// What a model can do, as its `tasks` table declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// Vectors.
    Encode,
    /// Entities, relations, classifications.
    Extract,
    /// Text.
    Generate,
    /// Relevance scores.
    Score,
    /// Audio to text.
    Transcribe,
}
