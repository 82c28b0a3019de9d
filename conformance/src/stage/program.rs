//! A program of a stage beside the sidecar: the shim, or an engine without one. What it wrote is kept; it ends with its stage.

use std::ffi::OsString;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parking_lot::Mutex;

use super::patience::within;
use crate::expect::{Finding, Verdict};

/// What it wrote on one of its outputs.
type Output = Arc<Mutex<Vec<u8>>>;

/// A running program. Dropping it asks it to end, and kills it, by its id.
#[derive(Debug)]
pub struct Program {
    name: &'static str,
    child: Child,
    out: Output,
    errors: Output,
}

impl Program {
    /// Starts it with these arguments and nothing but this environment.
    pub(crate) fn start(
        name: &'static str,
        bin: &Path,
        arguments: &[OsString],
        env: &[(String, String)],
    ) -> Verdict<Self> {
        let mut child = Command::new(bin)
            .args(arguments)
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Finding::new(missing(bin, &error)))?;
        let (out, errors) = (Output::default(), Output::default());
        child.stdout.take().into_iter().for_each(|stream| keep(stream, &out));
        child.stderr.take().into_iter().for_each(|stream| keep(stream, &errors));
        Ok(Self { name, child, out, errors })
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything on standard output so far.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.out.lock()).into_owned()
    }

    /// Everything on standard error so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.errors.lock()).into_owned()
    }

    /// Sends it this signal, by name.
    ///
    /// # Errors
    /// A finding when it cannot be sent.
    pub fn signal(&self, name: &str) -> Verdict {
        signal(self.id(), name)
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// A finding when it goes on.
    pub async fn exit(&mut self) -> Verdict<ExitStatus> {
        let child = &mut self.child;
        let gone = async {
            loop {
                match child.try_wait() {
                    Ok(None) => tokio::time::sleep(std::time::Duration::from_millis(2)).await,
                    Ok(Some(status)) => return Ok(status),
                    Err(error) => return Err(error),
                }
            }
        };
        Ok(within(&format!("the {} to end", self.name), gone).await??)
    }

    /// Whether it runs.
    ///
    /// # Errors
    /// What the system says.
    pub fn runs(&mut self) -> Verdict<bool> {
        Ok(self.child.try_wait()?.is_none())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // An error means that it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends a signal to one process, as an orchestrator does.
///
/// # Errors
/// A finding when it cannot be sent.
pub fn signal(id: u32, name: &str) -> Verdict {
    let failed = |why: &dyn fmt::Display| Finding::new(format!("SIG{name} to process {id}: {why}"));
    let signal: Signal = format!("SIG{name}").parse().map_err(|error| failed(&error))?;
    let process = i32::try_from(id).map_err(|error| failed(&error))?;
    kill(Pid::from_raw(process), signal).map_err(|error| failed(&error))
}

/// Memory of a process that is resident, in KiB; nothing when it has ended.
pub fn resident_kib(id: u32) -> Option<u64> {
    status_kib(id, "VmRSS:")
}

/// The most memory that a process ever had resident, in KiB; nothing when it has ended.
pub fn most_resident_kib(id: u32) -> Option<u64> {
    status_kib(id, "VmHWM:")
}

fn status_kib(id: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().split(' ').next()?.parse().ok()
}

fn missing(bin: &Path, error: &std::io::Error) -> String {
    let how = "build it with `cargo build -p spillway-shim -p spillway-conformance`, or say where it is with --shim or --engine";
    format!("cannot start {}: {error}: {how}", bin.display())
}

fn keep(mut stream: impl Read + Send + 'static, output: &Output) {
    let output = Arc::clone(output);
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(count) = stream.read(&mut part) {
            if count == 0 {
                break;
            }
            output.lock().extend_from_slice(&part[..count]);
        }
    });
}
