//! From a configuration to a serving process and back to nothing: bind, serve, drain.

use crate::admin::Admin;
use crate::config::{Address, Config, ListenTls};
use crate::full_lane::FullLane;
use crate::handover::{Inherited, Listening};
use crate::house::House;
use crate::lane::Lane;
use crate::shim;
use parking_lot::Mutex;
use pingora_core::apps::ServerApp;
use pingora_core::apps::http_app::HttpServer;
use pingora_core::listeners::tls::TlsSettings;
use pingora_core::listeners::{L4BufferSettings, ListenerConfig};
use pingora_core::server::Fds;
use pingora_core::services::Service as _;
use pingora_core::services::listening::Service;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use spillway_policies::Upstream;
use std::net::SocketAddr;
use std::os::fd::{IntoRawFd as _, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Why the process cannot start. The operator can mend all of these.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address that cannot be bound.
    #[error("cannot listen on {address}: {reason}; choose another address under {key}, or end what uses it")]
    Bind {
        /// Which address.
        address: String,
        /// Where it is configured.
        key: &'static str,
        /// What the system said.
        reason: std::io::Error,
    },
    /// A TLS file that cannot be used.
    #[error("{0}")]
    Tls(String),
}

/// How long a process that has handed over keeps idle connections: callers who are at it learn with their next answer to come back on
/// another one, and none finds its connection closed just as it writes.
const IDLE_GRACE: Duration = Duration::from_secs(3);

/// A serving sidecar.
pub struct Running {
    house: Arc<House>,
    full: Arc<FullLane>,
    begun: watch::Receiver<bool>,
    front: Option<JoinHandle<()>>,
    front_stop: watch::Sender<bool>,
    admin_stop: watch::Sender<bool>,
    /// Tells the shim what is in flight.
    report: Option<JoinHandle<()>>,
    sockets: Vec<Listening>,
    /// Where callers connect.
    pub front_address: String,
    /// Where the admin listener is.
    pub admin_address: String,
}

/// How many worker threads a configuration asks for.
#[must_use]
pub fn workers(config: &Config) -> usize {
    match config.listen.workers {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        workers => workers,
    }
}

/// Binds every listener that was not inherited and starts serving on the current runtime.
///
/// # Errors
/// An address is taken or a TLS file is unusable; nothing serves then.
pub fn start(config: &Config, inherited: &mut Inherited) -> Result<Running, StartError> {
    for upstream in &config.upstreams {
        check_upstream_tls(upstream)?;
    }
    let house = House::new(config, workers(config));
    let tls = config.listen.tls.as_ref().map(tls_settings).transpose()?;
    let front = Bound::bind(&config.listen.address, "listen.address", inherited)?;
    let admin = Bound::bind(&config.admin, "admin.address", inherited)?;
    let (front_address, admin_address) = (front.listening.bound.clone(), admin.listening.bound.clone());
    let sockets = vec![front.listening.clone(), admin.listening.clone()];
    let (front_stop, front_watch) = watch::channel(false);
    let (admin_stop, admin_watch) = watch::channel(false);
    let (begins, begun) = watch::channel(false);
    let (early, mut over) = (shim::first_word(house.clone()), front_watch.clone());
    // Whoever calls earlier waits in the socket's backlog.
    let early = async move {
        tokio::select! {
            () = early => {}
            _ = over.wait_for(|over| *over) => {}
        }
        begins.send_replace(true);
    };
    let full = Arc::new(FullLane::new(house.clone()));
    let lane = Lane::new(house.clone(), full.clone());
    let front = Some(front.serve("front", lane, tls, front_watch, early));
    admin.serve("admin", HttpServer::new_app(Admin::new(house.clone())), None, admin_watch, std::future::ready(()));
    let ticking = house.clone();
    tokio::spawn(house.clock.clone().run(move |tick| ticking.each_tick(tick)));
    let report = shim::start(&house);
    Ok(Running { house, full, begun, front, front_stop, admin_stop, report, sockets, front_address, admin_address })
}

impl Running {
    /// The listening sockets, for a successor. They stay open until this process drains or leaves.
    #[must_use]
    pub fn sockets(&self) -> &[Listening] {
        &self.sockets
    }

    /// Waits until connections are accepted.
    pub async fn begun(&self) {
        // The other end is gone only when nothing is served any more.
        let _ = self.begun.clone().wait_for(|begun| *begun).await;
    }

    /// Readiness off, and every answer ends its connection; then no new connections and no idle ones; exchanges in flight finish, up to
    /// `max`.
    pub async fn drain(&mut self, lame_duck: Duration, max: Duration) {
        self.house.retire();
        tokio::time::sleep(lame_duck).await;
        self.stop_accepting().await;
        self.finish(max).await;
    }

    /// Another process has the listening sockets and answers on them, admin pages included; what this one has begun it finishes, up to
    /// `max`. Once `hurried` is over, it does not wait for callers to come with a next request.
    pub async fn leave(&mut self, max: Duration, hurried: impl Future<Output = ()>) {
        self.house.retire();
        // A send fails only when the listener is gone already.
        let _ = self.admin_stop.send(true);
        self.stop_accepting().await;
        tokio::select! {
            () = tokio::time::sleep(IDLE_GRACE) => {}
            () = hurried => {}
        }
        self.finish(max).await;
    }

    async fn stop_accepting(&mut self) {
        let _ = self.front_stop.send(true);
        if let Some(front) = self.front.take() {
            let _ = front.await;
        }
    }

    async fn finish(&mut self, max: Duration) {
        // The fast lane's idle connections hear it from the house.
        self.house.drain();
        self.full.stop().await;
        let finished = async {
            let mut look = tokio::time::interval(Duration::from_millis(10));
            while self.house.in_flight() > 0 {
                look.tick().await;
            }
        };
        let _ = tokio::time::timeout(max, finished).await;
        if let Some(report) = self.report.take() {
            // Ended first, so that nothing older comes behind the last word.
            report.abort();
            let _ = report.await;
            shim::farewell(&self.house).await;
        }
        let _ = self.admin_stop.send(true);
    }

    /// Exchanges that are still in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.house.in_flight()
    }

    /// Writes the access lines that wait. The last thing to do, when no task is left that could add one.
    pub fn flush(&self) {
        self.house.access.flush_now();
    }
}

/// A bound socket that pingora will serve: bound here, so that a taken address is an error and not a panic.
struct Bound {
    listening: Listening,
    unix: bool,
}

impl Bound {
    fn bind(address: &Address, key: &'static str, inherited: &mut Inherited) -> Result<Self, StartError> {
        let asked = address.to_string();
        let unix = matches!(address, Address::Unix(_));
        if let Some(listening) = inherited.take(key, &asked) {
            return Ok(Self { listening, unix });
        }
        let (bound, socket) =
            open(address).map_err(|reason| StartError::Bind { address: asked.clone(), key, reason })?;
        Ok(Self { listening: Listening::new(key, asked, bound, socket), unix })
    }

    /// Accepts connections once `early` is over.
    fn serve<A>(
        self,
        name: &str,
        app: A,
        tls: Option<TlsSettings>,
        stop: watch::Receiver<bool>,
        early: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()>
    where
        A: ServerApp + Send + Sync + 'static,
    {
        let mut service = Service::new(name.to_owned(), app);
        let Listening { bound, socket, .. } = self.listening;
        let listener = if self.unix { ListenerConfig::uds(&bound) } else { ListenerConfig::tcp(&bound) };
        // The lane reads through a buffer of its worker: a second one per connection would only cost memory.
        let listener = listener.l4_buffer(L4BufferSettings::unbuffered());
        service.add_listener(match tls {
            Some(tls) => listener.tls(tls),
            None => listener,
        });
        let mut fds = Fds::new();
        fds.add(bound, socket);
        let fds = Arc::new(Mutex::new(fds));
        tokio::spawn(async move {
            early.await;
            service.start_service(Some(fds), stop, 1).await;
        })
    }
}

/// Binds a new listening socket: where callers find it, and its number.
fn open(address: &Address) -> std::io::Result<(String, RawFd)> {
    match address {
        Address::Tcp(text) => {
            let listener = std::net::TcpListener::bind(text)?;
            listener.set_nonblocking(true)?;
            let bound: SocketAddr = listener.local_addr()?;
            Ok((bound.to_string(), listener.into_raw_fd()))
        }
        Address::Unix(path) => {
            remove_stale(path)?;
            let listener = UnixListener::bind(path)?;
            listener.set_nonblocking(true)?;
            Ok((path.to_string_lossy().into_owned(), listener.into_raw_fd()))
        }
    }
}

/// A socket file that nobody listens on is left over from a process that is gone.
fn remove_stale(path: &Path) -> std::io::Result<()> {
    use std::io::ErrorKind;
    match UnixStream::connect(path) {
        Ok(_) => Err(ErrorKind::AddrInUse.into()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused && is_socket(path) => std::fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

/// Connecting to a file of another kind is refused too, and that file is the operator's.
pub(crate) fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// pingora reads these files when it builds its connector, and takes every fault for one of its own.
fn check_upstream_tls(upstream: &Upstream) -> Result<(), StartError> {
    let key = |field: &str| format!("upstreams.{}.tls.{field}", upstream.name.as_str());
    if let Some(path) = &upstream.tls.ca_file {
        certificates(Path::new(path)).map_err(|what| StartError::Tls(format!("{} {what}", key("ca_file"))))?;
    }
    if let Some((cert, private)) = &upstream.tls.client {
        let unusable = |field, what| StartError::Tls(format!("{} {what}", key(field)));
        let chain = certificates(Path::new(cert)).map_err(|what| unusable("client_cert_file", what))?;
        let private = PrivateKeyDer::from_pem_file(private)
            .map_err(|_| unusable("client_key_file", "cannot be read as a PEM private key"))?;
        rustls::sign::CertifiedKey::from_der(chain, private, &rustls::crypto::ring::default_provider())
            .map_err(|_| unusable("client_key_file", "does not belong to client_cert_file"))?;
    }
    Ok(())
}

/// The certificates of a PEM file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, &'static str> {
    let found = CertificateDer::pem_file_iter(path).map_err(|_| "cannot be read")?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(|_| "holds a broken certificate")?;
    if found.is_empty() { Err("holds no PEM certificate") } else { Ok(found) }
}

fn tls_settings(tls: &ListenTls) -> Result<TlsSettings, StartError> {
    let unusable = |key: &str, what: &str| StartError::Tls(format!("listen.tls.{key} {what}"));
    let (cert, key) = (tls.cert_file.to_string_lossy(), tls.key_file.to_string_lossy());
    let chain = certificates(&tls.cert_file).map_err(|what| unusable("cert_file", what))?;
    let private = PrivateKeyDer::from_pem_file(&*key);
    let private = private.map_err(|_| unusable("key_file", "cannot be read as a PEM private key"))?;
    let apart = || unusable("key_file", "does not belong to cert_file");
    // pingora looks only once it serves, and then it panics.
    rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| apart())?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|_| apart())?;
    let mut settings = TlsSettings::intermediate(&cert, &key).map_err(|_| apart())?;
    settings.enable_h2();
    if let Some(path) = &tls.client_ca_file {
        let mut roots = rustls::RootCertStore::empty();
        for cert in certificates(path).map_err(|what| unusable("client_ca_file", what))? {
            roots.add(cert).map_err(|_| unusable("client_ca_file", "holds an unusable certificate"))?;
        }
        let verifier = rustls::server::WebPkiClientVerifier::builder(Arc::new(roots))
            .build()
            .map_err(|_| unusable("client_ca_file", "holds no certificate"))?;
        settings.set_client_cert_verifier(verifier);
    }
    Ok(settings)
}
