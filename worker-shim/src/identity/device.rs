//! Which device does the engine compute on, and with which driver?

use super::cpu;
use super::local::Local;
use super::machine::Machine;
use super::table::Known;
use std::collections::BTreeSet;
use std::path::Path;

/// Nodes that belong to no accelerator. Everything else in `/dev` may be one.
const HARMLESS: &[&str] = &["null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"];

/// Folders of such nodes.
const HARMLESS_IN: &[&str] = &["pts", "shm", "hugepages", "mqueue"];

/// Nodes of the NVIDIA driver that are no GPU.
const NVIDIA_TOO: &[&str] = &["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"];

/// The device and its driver, as far as the nodes tell that the engine holds open.
pub(super) fn of(machine: &Machine, local: &Local, known: &Known) -> (Option<String>, Option<String>) {
    if local.has_any(known.device_not_with) {
        return (None, None);
    }
    let nodes: BTreeSet<_> = local.open.iter().filter_map(|path| node(path)).collect();
    if nodes.is_empty() {
        return (cpu::of(machine), Some("none".to_owned()));
    }
    let gpus: Vec<_> = nodes.iter().filter(|node| !NVIDIA_TOO.contains(node)).collect();
    // Every GPU that the driver may use is held open, used or not: only of one can it be said that it is used.
    let [gpu] = gpus.as_slice() else { return (None, None) };
    let minor = gpu.strip_prefix("nvidia").filter(|minor| minor.bytes().all(|byte| byte.is_ascii_digit()));
    match minor.filter(|_| known.is_whole_on_gpu).and_then(|minor| gpu_name(machine, minor)) {
        Some(name) => (Some(format!("nvidia:{name}")), driver(machine)),
        None => (None, None),
    }
}

/// The name in `/dev` of what may be an accelerator.
fn node(path: &Path) -> Option<&str> {
    // What is not text may be anything.
    let name = path.strip_prefix("/dev").ok()?.to_str().unwrap_or("?");
    let folder = name.split_once('/').map(|(folder, _)| folder);
    let harmless = HARMLESS.contains(&name) || folder.is_some_and(|folder| HARMLESS_IN.contains(&folder));
    (!harmless).then_some(name)
}

fn gpu_name(machine: &Machine, minor: &str) -> Option<String> {
    let folder = std::fs::read_dir(machine.path("/proc/driver/nvidia/gpus")).ok()?;
    let texts = folder.filter_map(|gpu| std::fs::read_to_string(gpu.ok()?.path().join("information")).ok());
    let mut names = texts
        .filter(|text| field(text, "Device Minor") == Some(minor))
        .map(|text| field(&text, "Model").filter(|name| !name.is_empty() && *name != "Unknown").map(str::to_owned));
    names.next().flatten().filter(|_| names.next().is_none())
}

/// The value of a `Name: value` line.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim())
}

/// The first line ends in `Kernel Module  535.104.05  Sat Aug 19 …`, or, for the open one, `… for x86_64  550.54.14  Release Build …`.
fn driver(machine: &Machine) -> Option<String> {
    let text = machine.text("/proc/driver/nvidia/version").ok()?;
    let first = text.lines().next()?.strip_prefix("NVRM version:")?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = |word: &&str| word.contains('.') && word.split('.').all(is_number);
    Some(format!("nvidia:{}", first.split_ascii_whitespace().find(is_version)?))
}
