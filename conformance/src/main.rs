//! Which rules does a Spillway binary keep? The command line of the black-box suite.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use spillway_conformance::report::Report;
use spillway_conformance::stage::Binaries;
use spillway_conformance::{cases, engine, run_bridge_cases, run_cases, run_vectors};

const HELP: &str = "\
The black-box suite of Spillway: a scripted engine and upstream around a sidecar binary.

Usage:
  spillway-conformance list
  spillway-conformance run --bin PATH [--shim PATH] [--suite cases|bridge|vectors] [--filter TEXT] [-o json]
  spillway-conformance engine --like KIND --port N [...]

  list            every case with the rule it proves, and the rows of the fault catalogue
  run             runs the suites against the binary; exit code 1 when a case fails
    --bin PATH    the sidecar under test, started with `run -c FILE`
    --shim PATH   the shim under test; default: `spillway-shim` beside the sidecar
    --suite NAME  one suite only: cases, bridge (recorded decisions) or vectors (raw HTTP/1.1 requests)
    --filter TEXT only the cases whose name contains TEXT
    -o json       the reports as JSON on standard output, instead of a table
  engine          behaves on the wire like an engine that cannot run here; without options it says which
";

#[derive(Debug, Default)]
struct Options {
    bin: PathBuf,
    shim: Option<PathBuf>,
    suite: Option<String>,
    filter: Option<String>,
    json: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("list") => {
            let width = cases::ALL.iter().map(|case| case.name.len()).max().unwrap_or(0);
            let lines = cases::ALL.iter().map(|case| {
                let rows = if case.faults.is_empty() { String::new() } else { format!(" [{}]", case.faults.join(" ")) };
                format!("{:<width$}  {}{rows}\n", case.name, case.clause)
            });
            say(&lines.collect::<String>());
            ExitCode::SUCCESS
        }
        Some("run") => match options(&words[1..]) {
            Ok(options) => run(&options),
            Err(wrong) => mistake(&wrong),
        },
        Some("engine") => engine::play(&words[1..]),
        Some("-h" | "--help" | "help") => {
            say(HELP);
            ExitCode::SUCCESS
        }
        _ => mistake("say `list` or `run`"),
    }
}

fn options(words: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--bin" => options.bin = value()?.into(),
            "--shim" => options.shim = Some(value()?.into()),
            "--suite" => options.suite = Some(value()?),
            "--filter" => options.filter = Some(value()?),
            "-o" => match value()?.as_str() {
                "json" => options.json = true,
                other => return Err(format!("-o knows json, not {other}")),
            },
            other => return Err(format!("unknown option {other}")),
        }
    }
    if options.bin.as_os_str().is_empty() {
        return Err("run needs --bin PATH".to_owned());
    }
    match options.suite.as_deref() {
        None | Some("bridge" | "cases" | "vectors") => Ok(options),
        Some(other) => Err(format!("unknown suite {other}")),
    }
}

#[tokio::main]
async fn run(options: &Options) -> ExitCode {
    let filter = options.filter.as_deref();
    let wanted = |suite: &str| options.suite.as_deref().is_none_or(|chosen| chosen == suite);
    let mut reports: Vec<Report> = Vec::new();
    if wanted("cases") {
        reports.push(run_cases(&binaries(options), filter).await);
    }
    if wanted("bridge") {
        reports.push(run_bridge_cases(&options.bin, filter).await);
    }
    if wanted("vectors") {
        reports.push(run_vectors(&options.bin, filter).await);
    }
    if options.json {
        let reports: Vec<_> = reports.iter().map(Report::to_json).collect();
        say(&format!("{}\n", serde_json::Value::from(reports)));
    } else {
        reports.iter().for_each(|report| say(&report.to_string()));
    }
    if reports.iter().all(|report| report.failed() == 0) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn binaries(options: &Options) -> Binaries {
    let mut binaries = Binaries::beside(&options.bin);
    if let Some(shim) = &options.shim {
        binaries.shim.clone_from(shim);
    }
    // This program plays the engines, wherever the sidecar lies.
    if let Ok(own) = std::env::current_exe() {
        binaries.engine = own;
    }
    binaries
}

fn say(text: &str) {
    // Nobody reads what cannot be written.
    std::io::stdout().lock().write_all(text.as_bytes()).ok();
}

fn mistake(what: &str) -> ExitCode {
    write!(std::io::stderr().lock(), "{what}\n\n{HELP}").ok();
    ExitCode::from(2)
}
