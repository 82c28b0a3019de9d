//! A scripted shim: it tells the states of its engine one after the other, when the case says so.

use serde_json::{Value, json};

use super::gate::Gate;
use super::journal::{Heard, Record};
use super::pipe::Address;
use super::script::{Answer, Play};
use super::scripted::Scripted;
use crate::expect::Verdict;

/// The shim and what it is about to tell.
#[derive(Debug)]
pub struct Shim {
    /// What it hears.
    pub scripted: Scripted,
    gates: Vec<Gate>,
    told: usize,
}

impl Shim {
    /// A shim that tells these snapshots: the first at once, each later one when the case says so. They are numbered from 1.
    ///
    /// # Errors
    /// What the bind says.
    pub async fn tells(snapshots: &[Value]) -> Verdict<Self> {
        let scripted = Scripted::tcp().await?;
        let mut play = Play::stream();
        let mut gates = Vec::new();
        for (at, snapshot) in snapshots.iter().enumerate() {
            if at > 0 {
                let gate = Gate::new();
                play = play.gate(&gate);
                gates.push(gate);
            }
            let mut snapshot = snapshot.clone();
            snapshot["seq"] = (at + 1).into();
            play = play.event(&format!("data: {snapshot}\n\n"));
        }
        let ending = Gate::new();
        play = play.gate(&ending).cut();
        gates.push(ending);
        scripted.on_path("/state/stream", play);
        scripted.on_path("/activity", Answer::json(200, "{}"));
        scripted.on_path("/load", Answer::json(202, "{}"));
        Ok(Self { scripted, gates, told: 1 })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        self.scripted.address()
    }

    /// Tells the next snapshot and waits until the sidecar says that it acts on it. After the last one the stream is cut.
    ///
    /// # Errors
    /// A finding when the sidecar does not say so.
    pub async fn next(&mut self) -> Verdict {
        self.gates[self.told - 1].open();
        self.told += 1;
        self.acted_on().await
    }

    /// Ends the stream for good.
    pub fn fall_silent(&self) {
        self.scripted.on_path("/state/stream", Answer::new(503));
        for gate in &self.gates {
            gate.open();
        }
    }

    /// Waits until the sidecar says that it acts on what was told last.
    ///
    /// # Errors
    /// A finding when it does not.
    pub async fn acted_on(&self) -> Verdict {
        let seq = self.told as u64;
        let told = move |record: &Record| {
            record.heard.iter().any(|heard| activity(heard).is_some_and(|seen| seen["seq"] == seq))
        };
        self.scripted.journal().until(&format!("activity after snapshot {seq}"), told).await?;
        Ok(())
    }

    /// The wishes to load that came, by their model.
    pub fn wishes(&self) -> Vec<Value> {
        let heard = self.scripted.journal().heard();
        heard.iter().filter(|heard| heard.path() == "/load").map(|heard| heard.json()["model"].clone()).collect()
    }
}

/// The report in a request, when it is one.
pub fn activity(heard: &Heard) -> Option<Value> {
    (heard.path() == "/activity").then(|| heard.json())
}

/// A snapshot of an engine in this state.
pub fn engine(state: &str) -> Value {
    json!({"preset": "openai", "engine": {"state": state}})
}
