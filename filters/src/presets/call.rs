//! What is an engine asked over HTTP that runs no request: to tell, to load, to sleep?

use super::Origin;

/// The method of a [`Call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET
    Get,
    /// POST
    Post,
}

impl Method {
    /// Its name on the wire.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// One request to an engine's control surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its method.
    pub method: Method,
    /// Its path and query, where `$model` stands for the percent-encoded name of the model.
    pub path: &'static str,
    /// Its JSON body, where `$model` stands for the model's name as the inside of a JSON string; empty: none.
    pub body: &'static str,
    /// An answer that is an error by its status and good news by its text.
    pub already: Option<Already>,
    /// How this is known.
    pub origin: Origin,
}

impl Call {
    /// The path for one model, or for the engine.
    #[must_use]
    pub fn path_for(&self, model: &str) -> String {
        if !self.path.contains("$model") {
            return self.path.to_owned();
        }
        // Engines take a name with slashes as it is (llama-swap, Triton's paths end before one).
        self.path.replace("$model", &crate::models::encoded(model).to_string())
    }

    /// The body for one model, or for the engine.
    #[must_use]
    pub fn body_for(&self, model: &str) -> String {
        let quoted = serde_json::Value::from(model).to_string();
        self.body.replace("$model", &quoted[1..quoted.len() - 1])
    }

    /// Whether an answer says that it was done.
    #[must_use]
    pub fn is_done(&self, status: u16, body: &[u8]) -> bool {
        (200..300).contains(&status) || self.already.is_some_and(|already| already.is(status, body))
    }
}

/// An answer that is an error by its status and good news by its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Already {
    /// Its status.
    pub status: u16,
    /// A text in its body, without regard to case.
    pub text: &'static str,
}

impl Already {
    /// Whether an answer is this one.
    #[must_use]
    pub fn is(&self, status: u16, body: &[u8]) -> bool {
        status == self.status
            && body.windows(self.text.len()).any(|part| part.eq_ignore_ascii_case(self.text.as_bytes()))
    }
}
