//! What does the sidecar cost beside the engine, next to nginx and stock pingora? The benchmark's command line.
//!
//! Every peer is measured in the same run, with the same load, in front of the same scripted engine, because absolute
//! times drift with the machine and only ratios within one run mean anything. `conformance/bench/run.sh` builds and
//! calls this.
#![allow(clippy::print_stdout, reason = "a command-line tool: its table is its output")]
#![allow(clippy::print_stderr, reason = "progress goes beside the table")]

mod bridge;
mod callgrind;
mod foreseen;
mod load;
mod machine;
mod options;
mod peers;
mod pin;
mod plan;
mod report;
mod rounds;
mod scripted;
mod shim;
mod stats;
mod streams;
mod syscalls;
mod targets;
mod wire;

use std::{error::Error, process::ExitCode};

use crate::{options::Options, report::Report};

fn main() -> ExitCode {
    match Options::from_arguments(std::env::args().skip(1)).map_err(Into::into).and_then(|options| run(&options)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures everything once, prints the table, writes the JSON file where one was asked for.
fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let report = measure(options)?;
    report.print();
    if let Some(file) = &options.json {
        std::fs::write(file, format!("{:#}\n", report.json()))?;
    }
    Ok(if options.gate && report.short() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn measure(options: &Options) -> Result<Report, Box<dyn Error>> {
    let plan = if options.quick { plan::QUICK } else { plan::FULL };
    let script = scripted::start()?;
    let yard = peers::Yard::new(options, &script)?;
    let mut report = Report::new(machine::facts(options), options.quick);

    eprintln!("bench: CPU and latency, {} paired rounds", plan.rounds);
    report.rounds = rounds::measure(&yard, &plan)?;
    if let Some(valgrind) = &options.valgrind {
        eprintln!("bench: instructions and allocations under callgrind");
        report.counts = callgrind::measure(&yard, &plan, valgrind)?;
    }
    if let Some(strace) = &options.strace {
        eprintln!("bench: system calls under strace");
        report.syscalls = syscalls::measure(&yard, &plan, strace)?;
    }
    eprintln!("bench: memory with {} idle streams", plan.streams);
    report.memory = streams::measure(&yard, &plan)?;
    eprintln!("bench: refusal to re-issue");
    report.bridge = bridge::measure(&yard, &plan, &script.gaps)?;
    eprintln!("bench: refusals from the engine's state");
    report.foreseen = foreseen::measure(&yard, &plan)?;
    eprintln!("bench: the shim beside an idle engine");
    report.shim = shim::measure(&yard)?;
    report.machine.load_after = machine::load_average();
    report.judge();
    Ok(report)
}
