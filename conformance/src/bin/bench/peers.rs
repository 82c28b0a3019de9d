//! Who is measured, and how is each of them started and stopped?

use std::{
    ffi::OsString,
    fs, io,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{machine::pause, options::Options, scripted::Script};

/// How often a peer is told to end, and how long it has after each time.
const MOST_TERMS: u32 = 5;
const BETWEEN_TERMS: Duration = Duration::from_secs(4);

/// A proxy under measurement. `Ord` is the order of the table's columns.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Peer {
    Spillway,
    Nginx,
    Stock,
}

impl Peer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Spillway => "spillway",
            Self::Stock => "stock",
        }
    }
}

/// What is there to be measured, and in front of what.
pub(crate) struct Yard {
    present: Vec<(Peer, PathBuf)>,
    shim: Option<PathBuf>,
    engine: u16,
    upstream: u16,
    folder: PathBuf,
    /// Puts processes on one core, where there is such a program.
    pub(crate) taskset: Option<PathBuf>,
}

impl Yard {
    pub(crate) fn new(options: &Options, script: &Script) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("spillway-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let given = [(Peer::Spillway, &options.spillway), (Peer::Nginx, &options.nginx), (Peer::Stock, &options.stock)];
        let present = given.into_iter().filter_map(|(peer, path)| Some((peer, path.clone()?))).collect();
        Ok(Self {
            present,
            shim: options.shim.clone(),
            engine: script.engine,
            upstream: script.upstream,
            folder,
            taskset: options.taskset.clone(),
        })
    }

    /// The peers whose program was given.
    pub(crate) fn present(&self) -> Vec<Peer> {
        self.present.iter().map(|(peer, _)| *peer).collect()
    }

    /// The port of the scripted engine: asking it is the direct way.
    pub(crate) fn engine(&self) -> u16 {
        self.engine
    }

    pub(crate) fn upstream(&self) -> u16 {
        self.upstream
    }

    /// A file of this run, gone with it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Starts a peer; `under` is a command to run it beneath, such as valgrind's.
    pub(crate) fn start(&self, peer: Peer, under: &[OsString]) -> io::Result<Running> {
        self.launch(peer, under, None)
    }

    /// Starts the sidecar beside a shim on this port.
    pub(crate) fn start_beside(&self, shim: u16) -> io::Result<Running> {
        self.launch(Peer::Spillway, &[], Some(shim))
    }

    fn launch(&self, peer: Peer, under: &[OsString], shim: Option<u16>) -> io::Result<Running> {
        let port = free_port()?;
        let (_, program) = self
            .present
            .iter()
            .find(|(present, _)| *present == peer)
            .ok_or_else(|| io::Error::other(format!("{} is not here", peer.name())))?;
        let mut line = under.to_vec();
        line.push(program.into());
        line.extend(self.arguments(peer, port, shim)?);
        self.run(peer.name(), &line, port)
    }

    /// Starts the shim to watch the scripted engine, where its program was given.
    pub(crate) fn start_shim(&self) -> io::Result<Option<Running>> {
        let Some(program) = &self.shim else { return Ok(None) };
        let port = free_port()?;
        let mut line: Vec<OsString> = vec![program.into()];
        let (engine, socket) = (format!("http://127.0.0.1:{}", self.engine), format!("http://127.0.0.1:{port}"));
        line.extend(["--preset", "openai", "--engine", &engine, "--socket", &socket].map(OsString::from));
        self.run("shim", &line, port).map(Some)
    }

    fn run(&self, name: &'static str, line: &[OsString], port: u16) -> io::Result<Running> {
        let log = fs::File::create(self.file(&format!("{name}.log")))?;
        let child = Command::new(&line[0])
            .args(&line[1..])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut running = Running { name, child, port };
        running.until_listening().map_err(|error| {
            let log = fs::read_to_string(self.file(&format!("{name}.log"))).unwrap_or_default();
            io::Error::other(format!("{name}: {error}\n{log}"))
        })?;
        Ok(running)
    }

    fn arguments(&self, peer: Peer, port: u16, shim: Option<u16>) -> io::Result<Vec<OsString>> {
        Ok(match peer {
            Peer::Nginx => {
                let file = self.file("nginx.conf");
                fs::write(&file, nginx_conf(&self.folder, port, self.engine))?;
                vec!["-p".into(), self.folder.clone().into(), "-c".into(), file.into()]
            }
            Peer::Spillway => {
                let file = self.file("spillway.toml");
                fs::write(&file, spillway_toml(port, free_port()?, self.engine, self.upstream, shim))?;
                vec!["run".into(), "-c".into(), file.into()]
            }
            Peer::Stock => vec![format!("127.0.0.1:{port}").into(), format!("127.0.0.1:{}", self.engine).into()],
        })
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        // Nothing depends on it; the folder is under the system's temporary one.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A started peer. Stops with the value.
pub(crate) struct Running {
    name: &'static str,
    child: Child,
    pub(crate) port: u16,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn until_listening(&mut self) -> io::Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let end = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
            if let Some(status) = self.child.try_wait()? {
                return Err(io::Error::other(format!("ended at once: {status}")));
            }
            if Instant::now() > end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            pause(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Asks the peer to end and waits: whoever watches it, such as valgrind, writes its results then.
    pub(crate) fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        // More than once: nginx sleeps on when it is told just before it begins to wait for events.
        for _ in 0..MOST_TERMS {
            signal("TERM", self.pid())?;
            let next = Instant::now() + BETWEEN_TERMS;
            while Instant::now() < next {
                if self.child.try_wait()?.is_some() {
                    return Ok(());
                }
                pause(Duration::from_millis(10));
            }
        }
        self.child.kill()?;
        self.child.wait()?;
        Err(io::Error::other(format!("{} did not end on SIGTERM", self.name)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Reported where it matters, by `stop`.
        let _ = self.end();
    }
}

/// Sends a signal to a process that this program started.
pub(crate) fn signal(name: &str, pid: u32) -> io::Result<()> {
    spillway_conformance::stage::program::signal(pid, name).map_err(|finding| io::Error::other(finding.to_string()))
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// One worker, requests held whole, answers not buffered, one header added: the sidecar's job in nginx's words.
fn nginx_conf(folder: &Path, port: u16, engine: u16) -> String {
    let folder = folder.display();
    format!(
        "daemon off; master_process off; worker_processes 1;
pid {folder}/nginx.pid; error_log {folder}/nginx.err;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 100000000; keepalive_timeout 3600s;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi; client_body_buffer_size 64k;
  upstream engine {{
    server 127.0.0.1:{engine}; keepalive 512; keepalive_requests 100000000; keepalive_timeout 3600s;
  }}
  server {{
    listen 127.0.0.1:{port} backlog=4096; client_max_body_size 64m;
    location / {{
      proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_read_timeout 3600s;
      proxy_buffering off; add_header X-SIE-Served-By local always;
    }}
  }}
}}
"
    )
}

/// The shipped defaults, except for the access line, which nginx is spared too.
fn spillway_toml(port: u16, admin: u16, engine: u16, upstream: u16, shim: Option<u16>) -> String {
    let shim = shim.map_or_else(String::new, |port| format!("shim = \"http://127.0.0.1:{port}\"\n"));
    format!(
        r#"[listen]
address = "127.0.0.1:{port}"

[admin]
address = "127.0.0.1:{admin}"

[log]
access = "none"

[engine]
preset = "sie"
base_url = "http://127.0.0.1:{engine}"
{shim}
[upstreams.warm]
kind = "openai"
base_url = "http://127.0.0.1:{upstream}/v1"
endpoints = ["chat", "embeddings"]
rate_cap = {{ requests_per_minute = 100000000, max_concurrency = 64 }}

[models."cold"]
tasks = {{ generate = {{ context_length = 8192, max_output_tokens = 1024 }} }}
profiles.remote = {{ upstream = "warm", upstream_model = "vendor/warm" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}

[models."together"]
remote_backed = true
tasks = {{ encode = {{ dense = {{ dim = 1024 }} }} }}
profiles.default = {{ upstream = "warm", upstream_model = "vendor/vectors" }}
routing = {{ policy = "remote_only" }}

[models."apart"]
remote_backed = true
tasks = {{ encode = {{ dense = {{ dim = 1024 }} }} }}
profiles.default = {{ upstream = "warm", upstream_model = "vendor/vectors", max_batch = 1 }}
routing = {{ policy = "remote_only" }}
"#
    )
}
