//! As written -> as meant: one module for each table, references resolved, so that at request time nothing can be "not found".

mod credential;
mod engine;
mod equivalence;
mod later;
mod listen;
mod model;
mod models;
mod onboarding;
mod params;
mod profile;
mod reach;
mod recogniser;
mod routing;
mod surroundings;
mod tasks;
mod upstream;

pub(super) use models::{Models, Upstreams};
pub(super) use surroundings::Surroundings;

use super::table::{Node, Place, Table};
use super::{Config, Drain, Engine, Listen, Log};
use crate::config::address::Address;
use spillway_policies::Routes;
use std::path::PathBuf;
use std::sync::Arc;

/// A deployment file without its models, which may lie in files of their own.
pub(super) struct Deployment<'t> {
    pub(super) remote_serving: bool,
    listen: Listen,
    admin: Address,
    engine: Option<Engine>,
    drain: Drain,
    log: Log,
    pub(super) upstreams: Upstreams,
    /// The inline `[models]` table.
    pub(super) models: Option<Node<'t>>,
    /// Where model files lie, and where that was written.
    pub(super) models_dir: Option<(PathBuf, Place<'t>)>,
}

/// Every key a deployment file may hold at its top.
const TOP_KEYS: [&str; 10] = [
    "remote_serving",
    "listen",
    "admin",
    "engine",
    "upstreams",
    "models",
    "models_dir",
    "drain",
    "log",
    "shared_state",
];

/// Converts the deployment file. What is wrong is noted, and the rest is converted all the same.
pub(super) fn deployment<'t>(mut root: Table<'t>, surroundings: &Surroundings<'_>) -> Deployment<'t> {
    let remote_serving = root.flag_or("remote_serving", true);
    let (listen, front) = listen::listen(root.section("listen"), surroundings);
    let admin = listen::admin(root.section("admin"));
    let engine = match root.take("engine") {
        Some(node) => node.table().and_then(engine::engine),
        None => {
            root.place.missing(
                "engine",
                "say which engine stands beside Spillway, and where: [engine] with preset and base_url",
            );
            None
        }
    };
    let (drain, log) = (listen::drain(root.section("drain")), listen::log(root.section("log")));
    let upstreams = root.take("upstreams").map_or_else(Upstreams::new, |node| upstreams(&node, surroundings));
    let (models, models_dir) = (root.take("models"), root.take("models_dir"));
    let models_dir = models_dir.and_then(|node| Some((surroundings.path(&node)?, node.place)));
    if let Some(node) = root.take("shared_state") {
        shared_state(&node);
    }
    root.finish();

    let engine = engine.map(|(engine, placed, shim)| {
        engine::keep_apart(&front, &admin, &placed, shim.as_ref());
        engine
    });
    Deployment { remote_serving, listen, admin: admin.address, engine, drain, log, upstreams, models, models_dir }
}

fn upstreams(node: &Node<'_>, surroundings: &Surroundings<'_>) -> Upstreams {
    let Some(table) = node.table() else { return Upstreams::new() };
    let converted = table
        .each()
        .into_iter()
        .map(|(name, node)| (name.to_owned(), upstream::upstream(name, &node, surroundings).map(Arc::new)));
    converted.collect()
}

/// `[shared_state]` is checked, and refused: caps that an operator believes to hold across replicas would not.
fn shared_state(node: &Node<'_>) {
    let Some(mut table) = node.table() else { return };
    if let Some(secret) = table.need("redis_url_secret", "the name of an environment variable that holds the URL") {
        credential::variable_name(&secret);
    }
    table.finish();
    later::refused(&node.name, "take it out: caps and breakers hold for each process by itself");
}

/// Reads a model file: `[models."<name>"]` tables and nothing else.
pub(super) fn model_file(mut root: Table<'_>, models: &mut Models<'_>, surroundings: &Surroundings<'_>) {
    if let Some(node) = root.take("models") {
        models.read(&node, surroundings);
    }
    root.finish_with(|name| match name {
        "upstreams" => Some("an upstream is defined in the deployment file; a model file only names one".into()),
        _ if TOP_KEYS.contains(&name) => {
            Some("this belongs in the deployment file; a model file holds [models.\"name\"] tables only".into())
        }
        _ => None,
    });
}

impl Deployment<'_> {
    /// The whole configuration, once nothing is wrong with any file.
    pub(super) fn with_routes(self, routes: Routes) -> Option<Config> {
        let Self { remote_serving, listen, admin, engine, drain, log, upstreams, .. } = self;
        let upstreams = upstreams.into_values().flatten().collect();
        Some(Config {
            remote_serving,
            listen,
            admin,
            engine: engine?,
            drain,
            log,
            upstreams,
            routes,
            warnings: Vec::new(),
        })
    }
}
