//! The HTTP/1.1 vectors: requests against the front and what has to become of them.

use serde::Deserialize;

/// One vector of `fixtures/h1_vectors.json`.
#[derive(Deserialize)]
pub(crate) struct Vector {
    pub(crate) family: String,
    pub(crate) name: String,
    pub(crate) expect: Expect,
    /// How many requests a front that takes all of it would see.
    pub(crate) requests: usize,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expect {
    Accept,
    Either,
    NeverUpstream,
    Refuse,
}

/// Bytes, or a pause or wait that a pure codec does not notice.
#[derive(Deserialize)]
struct Step {
    send_latin1: Option<String>,
}

impl Vector {
    /// What is sent, one part a step.
    pub(crate) fn parts(&self) -> Vec<Vec<u8>> {
        let latin1 = |text: &String| text.chars().map(|c| u8::try_from(u32::from(c)).expect("latin-1")).collect();
        self.steps.iter().filter_map(|step| step.send_latin1.as_ref()).map(latin1).collect()
    }

    pub(crate) fn title(&self) -> String {
        format!("{}: {}", self.family, self.name)
    }
}

/// All vectors, in order.
pub(crate) fn all() -> Vec<Vector> {
    #[derive(Deserialize)]
    struct File {
        vectors: Vec<Vector>,
    }
    let file: File = serde_json::from_str(include_str!("../fixtures/h1_vectors.json")).expect("the vectors are JSON");
    file.vectors
}
