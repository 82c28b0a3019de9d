//! Which processes are the engine, and what do they show of themselves?

use super::machine::Machine;
use super::sockets;
use crate::config::Address;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// The processes of an engine that was started here and computes here: one of them is who answers at its address.
#[derive(Default)]
pub(super) struct Local {
    /// The process that listens.
    pub(super) listener: i32,
    /// What all of them hold open.
    pub(super) open: Vec<PathBuf>,
    /// The files that they map, as `/proc/PID/maps` tells it: one that is gone from its name ends with ` (deleted)`.
    pub(super) mapped: BTreeSet<String>,
    arguments: Vec<Vec<String>>,
    variables: Vec<String>,
}

impl Local {
    /// None unless all of it can be seen. A command that only starts the engine somewhere else, as `docker run` does, does not listen itself.
    pub(super) fn of(machine: &Machine, address: &Address, process: i32) -> Option<Self> {
        let listening = sockets::listening(machine, address)?;
        let mut local = Self::default();
        let mut held = Vec::new();
        for id in members(machine, process)? {
            match local.add(machine, id) {
                Ok(open) => {
                    held.extend(open.into_iter().filter(|path| listening.contains(path)).map(|path| (path, id)))
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
        }
        let all = listening.iter().all(|socket| held.iter().any(|(path, _)| path == socket));
        local.listener = held.first().filter(|_| all)?.1;
        local.sees_our_files(machine).then_some(local)
    }

    /// One more process. It may have ended in the meantime.
    fn add(&mut self, machine: &Machine, id: i32) -> io::Result<Vec<PathBuf>> {
        let mut open = Vec::new();
        for entry in std::fs::read_dir(machine.path(format!("/proc/{id}/fd")))? {
            match std::fs::read_link(entry?.path()) {
                Ok(path) => open.push(path),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let arguments = words(machine, id, "cmdline")?;
        let variables = words(machine, id, "environ")?;
        let maps = machine.text(format!("/proc/{id}/maps"))?;
        self.mapped.extend(maps.lines().filter_map(|line| Some(line[line.find('/')?..].to_owned())));
        self.open.extend(open.iter().cloned());
        self.arguments.push(arguments);
        self.variables.extend(variables.iter().filter_map(|pair| Some(pair.split_once('=')?.0.to_owned())));
        Ok(open)
    }

    /// Whether a path means the same file to the engine and to the shim.
    fn sees_our_files(&self, machine: &Machine) -> bool {
        let link = |id, name| machine.link(id, name).ok();
        let same = |name| link(self.listener, name).is_some_and(|one| link(machine.shim(), name) == Some(one));
        same("ns/mnt") && same("root")
    }

    /// The value of one of these flags; none when there is none, or when there are different ones.
    pub(super) fn flag(&self, names: &[&str]) -> Option<String> {
        let mut values: Vec<_> = self.arguments.iter().flat_map(|words| values(words, names)).collect();
        values.dedup();
        let value = values.pop()?;
        values.is_empty().then_some(value)
    }

    /// Whether one of these is among the flags, or the variables (written `$NAME`). A `*` at the end stands for any rest.
    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| match name.strip_prefix('$') {
            Some(variable) => self.variables.iter().any(|known| fits(variable, known)),
            None => self.arguments.iter().flatten().any(|word| is_meant(name, word)),
        })
    }

    /// Where a path that the engine was given is.
    pub(super) fn resolve(&self, machine: &Machine, path: &str) -> Option<PathBuf> {
        Some(machine.path(machine.link(self.listener, "cwd").ok()?.join(path)))
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

/// A flag of its own that others begin with.
const MODEL: &str = "--model";

/// Whether a word of a command may be this flag. Python programs take a long one shortened and a value glued to a short one, and vLLM one key
/// of a JSON value behind a dot.
fn is_meant(pattern: &str, word: &str) -> bool {
    let flag = flag_of(word);
    if !pattern.starts_with("--") {
        return flag == pattern || (pattern.len() == 2 && flag.starts_with(pattern));
    }
    let flag = flag.split('.').next().unwrap_or(&flag);
    let is_shortened = flag.len() > 2 && flag.starts_with("--") && flag != MODEL && pattern.starts_with(flag);
    is_shortened || fits(pattern, flag)
}

/// A word of a command as the flag that it is. Python programs take `_` for `-`.
fn flag_of(word: &str) -> String {
    let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
    if flag.starts_with("--") { flag.replace('_', "-") } else { flag.to_owned() }
}

fn values(words: &[String], names: &[&str]) -> Vec<String> {
    let named = |word: &str| names.contains(&flag_of(word).as_str());
    let mut found = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            _ if !named(word) => {}
            Some((_, value)) => found.push(value.to_owned()),
            None => found.extend(words.peek().map(|value| (*value).clone())),
        }
    }
    found
}

fn words(machine: &Machine, id: i32, name: &str) -> io::Result<Vec<String>> {
    let bytes = std::fs::read(machine.path(format!("/proc/{id}/{name}")))?;
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    Ok(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// The process, its group, everything they started, and whatever the shim inherited of it.
fn members(machine: &Machine, process: i32) -> Option<Vec<i32>> {
    let all = processes(machine).ok()?;
    all.get(&process)?;
    let ours = |mut id: i32| {
        // A chain of parents is as long as there are processes at most.
        for _ in 0..all.len() {
            let Some(one) = all.get(&id) else { return false };
            if id == process || one.group == process || one.parent == machine.shim() {
                return true;
            }
            id = one.parent;
        }
        false
    };
    Some(all.iter().filter(|(_, one)| one.lives).map(|(id, _)| *id).filter(|id| ours(*id)).collect())
}

struct Process {
    parent: i32,
    group: i32,
    lives: bool,
}

fn processes(machine: &Machine) -> io::Result<BTreeMap<i32, Process>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(machine.path("/proc"))? {
        let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(stat) = machine.text(format!("/proc/{id}/stat")) else { continue };
        all.extend(process(&stat).map(|process| (id, process)));
    }
    Ok(all)
}

/// `id (name) state parent group …`; the name may have spaces and brackets.
fn process(stat: &str) -> Option<Process> {
    let mut rest = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = rest.next()?;
    Some(Process {
        parent: rest.next()?.parse().ok()?,
        group: rest.next()?.parse().ok()?,
        lives: !matches!(state, "Z" | "X"),
    })
}
