//! `[models."<name>"]`: what a model can do, who may serve it, and what its bare name does.

use super::models::Models;
use super::routing::{self, Written};
use super::surroundings::Surroundings;
use super::{later, params, profile, tasks};
use crate::config::table::{Node, Place, Table};
use spillway_policies::model::DEFAULT_PROFILE;
use spillway_policies::routing::{Policy, Profile, Tasks};
use spillway_policies::surface::Task;
use spillway_policies::upstream::Kind;
use spillway_policies::{Model, Surface, Upstream};
use std::collections::BTreeMap;

/// Largest count of tokens that makes sense anywhere.
pub(super) const MOST_TOKENS: u32 = 1 << 30;

/// Every task with its key.
pub(super) const TASKS: [(&str, Task); 5] = [
    ("encode", Task::Encode),
    ("extract", Task::Extract),
    ("generate", Task::Generate),
    ("score", Task::Score),
    ("transcribe", Task::Transcribe),
];

/// The profiles of one model; none for one that has mistakes.
pub(super) type Profiles = BTreeMap<String, Option<Profile>>;

/// Converts one model; none when anything about it is wrong.
pub(super) fn model(node: &Node<'_>, models: &Models<'_>, surroundings: &Surroundings<'_>) -> Option<Model> {
    let mistakes = node.place.mistakes();
    let mut table = node.table()?;
    let remote_backed = table.flag_or("remote_backed", false);
    let tasks_node = table.take("tasks");
    let tasks = tasks_node.as_ref().map_or_else(|| Some(Tasks::default()), tasks::tasks);
    let max_sequence_length = table.take("max_sequence_length").and_then(|node| {
        later::unread(&node.name, "inputs are not measured before they are sent");
        node.count(1..=MOST_TOKENS)
    });
    let profiles = table.take("profiles");
    let profiles = profiles.map_or_else(Profiles::new, |node| profile::profiles(&node, models, surroundings));
    let written = table.take("routing").map_or(Some(Written::Local), |node| routing::read(&node));
    local_name(&mut table);
    let accept_params = accept_params(&mut table);
    table.finish_with(unknown_key);

    // In a file that could not be read whole, parts may be missing that were written.
    if node.place.is_uncertain() {
        return None;
    }
    let whole = Whole { place: &node.name, tasks_node: tasks_node.as_ref(), tasks: tasks.as_ref(), remote_backed };
    let profiles = whole.checked(profiles);
    let policy = written.and_then(|written| routing::policy(written, &profiles, remote_backed));
    whole.check_hybrid(policy.as_ref());
    if node.place.mistakes() > mistakes {
        return None;
    }
    let mut tasks = tasks?;
    tasks.max_sequence_length = max_sequence_length;
    let profiles = profiles.into_iter().map(|(name, profile)| Some((name, profile?))).collect::<Option<_>>()?;
    Some(Model { tasks, profiles, policy: policy?, remote_backed, accept_params })
}

fn unknown_key(name: &str) -> Option<String> {
    let weights = ["hf_id", "hf_revision", "weights_path", "package_backed"].contains(&name);
    match name {
        "upstreams" => Some("an upstream is defined in the deployment file; a model only names one".into()),
        _ if weights => Some("where the weights come from is the engine's own business".into()),
        _ => None,
    }
}

/// A key that is checked and refused.
fn local_name(table: &mut Table<'_>) {
    if let Some(node) = table.take("local_name")
        && let Some(name) = node.text()
    {
        if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            node.place.wrong("must be a model's name, without spaces", "");
        } else {
            later::refused(&node.name, "name the model here as the engine names it");
        }
    }
}

/// Fields of a request that are accepted beside those of its API.
fn accept_params(table: &mut Table<'_>) -> Vec<String> {
    let Some(node) = table.take("accept_params") else { return Vec::new() };
    let mut accepted = Vec::new();
    for (name, place) in node.texts().unwrap_or_default() {
        if params::is_identifier(name, 64) {
            accepted.push(name.to_owned());
        } else {
            place.wrong("must be a field name: letters, digits and _, at most 64, not starting with a digit", "");
        }
    }
    accepted
}

/// The parts of a model, to be weighed against each other as far as each is right by itself.
struct Whole<'t> {
    place: &'t Place<'t>,
    tasks_node: Option<&'t Node<'t>>,
    tasks: Option<&'t Tasks>,
    remote_backed: bool,
}

impl Whole<'_> {
    /// The profiles with the local `default` that is there unwritten, checked against the rest.
    fn checked(&self, mut profiles: Profiles) -> Profiles {
        for (name, profile) in &profiles {
            match profile {
                Some(Profile::Local) if self.remote_backed => {
                    self.place.wrong(
                        format!("has remote_backed = true and the local profile \"{name}\""),
                        "a remote-backed model has remote profiles only: give the profile an upstream and an upstream_model",
                    );
                }
                Some(Profile::Remote(remote)) => self.check_produces(name, &remote.upstream),
                Some(Profile::Local) | None => {}
            }
        }
        match profiles.get(DEFAULT_PROFILE) {
            Some(Some(Profile::Remote(_))) if !self.remote_backed => self.place.wrong(
                "has a remote default profile without remote_backed = true",
                "when no local engine has the model, say so: remote_backed = true; otherwise give the remote profile another name",
            ),
            None if self.remote_backed => self.place.missing(
                "profiles.default",
                "a remote-backed model is served by its default profile: profiles.default = { upstream = \"…\", upstream_model = \"…\" }",
            ),
            _ => {}
        }
        if !self.remote_backed {
            profiles.entry(DEFAULT_PROFILE.into()).or_insert(Some(Profile::Local));
        }
        profiles
    }

    /// An upstream must be able to do at least one of the model's tasks.
    fn check_produces(&self, profile: &str, upstream: &Upstream) {
        let Some(tasks) = self.tasks else { return };
        let mut declared = TASKS.iter().filter(|(_, task)| tasks.has(*task)).peekable();
        if declared.peek().is_none() {
            self.place.missing("tasks", "a model with a remote profile says what it does, such as tasks = { generate = { context_length = 8192, max_output_tokens = 1024 } }");
        } else if !declared.any(|(_, task)| can_do(upstream, *task, tasks)) {
            self.place.wrong(
                format!("declares no task that the upstream of profile \"{profile}\" serves"),
                "chat and completions serve generate, embeddings serves encode.dense, rerank serves score",
            );
        }
    }

    /// A model that may be bridged: every task must be one that a bridge can serve.
    fn check_hybrid(&self, policy: Option<&Policy>) {
        let (Some(Policy::Fallback { remote, .. }), Some(tasks)) = (policy, self.tasks) else { return };
        for (key, task) in TASKS.into_iter().filter(|(_, task)| tasks.has(*task)) {
            let place = self
                .tasks_node
                .and_then(|node| node.table()?.take(key))
                .map_or_else(|| self.place.clone(), |node| node.name);
            if matches!(task, Task::Encode | Task::Score) {
                later::refused(
                    &place,
                    "a bridge could mix two vector spaces under one name, and nothing here proves that they are one yet: \
                     leave routing out, use remote_only, or declare a generate task as a model of its own",
                );
            } else if !can_do(&remote.upstream, task, tasks) {
                place.wrong(
                    "is a task that the fallback profile's upstream does not serve",
                    "a fallback profile serves every task of its model: leave the task out, or add the endpoint to the upstream",
                );
            }
        }
    }
}

/// Whether an upstream has an endpoint for a task. Embeddings are dense vectors and nothing else.
fn can_do(upstream: &Upstream, task: Task, tasks: &Tasks) -> bool {
    match upstream.kind {
        Kind::Sie => true,
        Kind::Openai(_) if task == Task::Encode && tasks.dense_dim.is_none() => false,
        Kind::Openai(_) => Surface::ALL
            .into_iter()
            .any(|surface| surface.task() == task && upstream.asked_on(surface, false).is_some()),
    }
}
