//! On what was measured, and what does the kernel say about a process?

use std::{fs, io, path::Path, process::Command, time::Duration};

use crate::options::Options;

/// What a reader must know before comparing two reports.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) kernel: String,
    pub(crate) load_before: String,
    pub(crate) load_after: String,
    /// Name and version of every program that took part.
    pub(crate) versions: Vec<(&'static str, String)>,
}

pub(crate) fn facts(options: &Options) -> Machine {
    let version =
        |program: Option<&Path>, argument: &str| program.map_or_else(|| "-".into(), |p| first_line(p, argument));
    Machine {
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        processor: processor(),
        kernel: read_line("/proc/sys/kernel/osrelease"),
        load_before: load_average(),
        load_after: String::new(),
        versions: vec![
            ("spillway", version(options.spillway.as_deref(), "--version")),
            ("nginx", version(options.nginx.as_deref(), "-v")),
            ("stock", options.stock.as_ref().map_or_else(|| "-".into(), |_| "pingora ProxyHttp".into())),
            ("valgrind", version(options.valgrind.as_deref(), "--version")),
            ("strace", version(options.strace.as_deref(), "--version")),
            ("taskset", version(options.taskset.as_deref(), "--version")),
            ("rustc", first_line(Path::new("rustc"), "--version")),
        ],
    }
}

/// Runnable processes over 1, 5 and 15 minutes: above 1 or so, distrust the times.
pub(crate) fn load_average() -> String {
    read_line("/proc/loadavg").split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

fn processor() -> String {
    let all = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = all.lines().find(|line| line.starts_with("model name"));
    named.and_then(|line| line.split_once(": ")).map_or_else(|| "unknown".into(), |(_, name)| name.to_owned())
}

fn read_line(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}

fn first_line(program: &Path, argument: &str) -> String {
    let Ok(output) = Command::new(program).arg(argument).output() else { return "-".into() };
    // nginx says its version on standard error.
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).lines().next().unwrap_or("-").to_owned()
}

/// Microseconds that all threads of a process have run so far.
///
/// # Errors
/// The process is gone.
pub(crate) fn cpu_micros(pid: u32) -> io::Result<f64> {
    let mut nanos = 0.0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread that ends between the two looks has had its say.
        let Ok(line) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
        nanos += line.split_whitespace().next().and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(nanos / 1e3)
}

/// Resident memory of a process in KiB.
///
/// # Errors
/// The process is gone.
pub(crate) fn resident_kib(pid: u32) -> io::Result<f64> {
    field_kib(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?, "Rss:")
}

fn field_kib(text: &str, name: &str) -> io::Result<f64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| io::Error::other(format!("no {name} line")))
}

/// Waits while a peer does what is being measured.
#[allow(clippy::disallowed_methods, reason = "called on the program's main thread, where no worker is held up")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Whether somebody traces the process.
pub(crate) fn traced(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|tracer| tracer.trim() != "0"))
}

#[cfg(test)]
mod tests {
    use super::{cpu_micros, field_kib, resident_kib};

    #[test]
    fn a_field_in_kib_is_read() {
        assert_eq!(field_kib("Rss:      1234 kB\nPss:  7 kB\n", "Rss:").expect("there"), 1234.0);
        assert!(field_kib("Pss: 7 kB\n", "Rss:").is_err());
    }

    #[test]
    fn this_process_has_run_and_has_memory() {
        let own = std::process::id();
        assert!(cpu_micros(own).expect("alive") > 0.0);
        assert!(resident_kib(own).expect("alive") > 100.0);
    }
}
