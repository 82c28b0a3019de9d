//! Which engine is played, and where?

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How the program is started.
pub(super) const USAGE: &str = "\
Usage: spillway-conformance engine --like KIND --port N [options]

  --like KIND       vllm, tei, ollama, llama-swap, or crashing (loads, then ends)
  --port N          where it listens, on 127.0.0.1
  --load-ms N       how long a load takes without a director (0)
  --weights-mb N    memory that a load really takes (0)
  --exit-code N     how it ends (0)
  --max-concurrent-requests N   TEI: more than these are refused
  --director PATH   a Unix socket that says when each step is taken
";

/// The engine that is behaved like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Like {
    Vllm,
    Tei,
    Ollama,
    LlamaSwap,
    Crashing,
}

impl Like {
    const ALL: [(&str, Self); 5] = [
        ("vllm", Self::Vllm),
        ("tei", Self::Tei),
        ("ollama", Self::Ollama),
        ("llama-swap", Self::LlamaSwap),
        ("crashing", Self::Crashing),
    ];

    /// Whether the start of the process is the load.
    pub(super) const fn loads_at_start(self) -> bool {
        matches!(self, Self::Vllm | Self::Tei | Self::Crashing)
    }
}

/// The command line as meant.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) like: Like,
    pub(super) address: SocketAddr,
    pub(super) load: Duration,
    pub(super) weights_mb: usize,
    pub(super) exit_code: u8,
    pub(super) max_concurrent: usize,
    pub(super) director: Option<PathBuf>,
}

/// Reads the words after `engine`.
pub(super) fn read(words: &[String]) -> Result<Options, String> {
    let (mut like, mut port) = (None, None);
    let mut options = Options {
        like: Like::Crashing,
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        load: Duration::ZERO,
        weights_mb: 0,
        exit_code: 0,
        max_concurrent: usize::MAX,
        director: None,
    };
    for pair in words.chunks(2) {
        let [name, value] = pair else { return Err(format!("{} needs a value", pair[0])) };
        match name.as_str() {
            "--like" => like = Like::ALL.iter().find(|known| known.0 == value).map(|known| known.1),
            "--port" => port = Some(number(name, value)?),
            "--load-ms" => options.load = Duration::from_millis(number(name, value)?),
            "--weights-mb" => options.weights_mb = number(name, value)?,
            "--exit-code" => options.exit_code = number(name, value)?,
            "--max-concurrent-requests" => options.max_concurrent = number(name, value)?,
            "--director" => options.director = Some(value.into()),
            other => return Err(format!("unknown option {other}")),
        }
    }
    options.like = like.ok_or("--like vllm, tei, ollama, llama-swap or crashing")?;
    options.address.set_port(port.ok_or("--port N")?);
    Ok(options)
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name}: {value} is not such a number"))
}
