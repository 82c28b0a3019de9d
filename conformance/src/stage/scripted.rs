//! What is a scripted side: an HTTP/1.1 server that does exactly what a case wrote down, and keeps a journal?

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::gate::Gate;
use super::journal::{Ending, Heard, Journal, Record};
use super::pipe::{Address, Framing, Pipe, Stream, hang_up};
use super::script::{Answer, Play, Step};
use crate::expect::Verdict;

type Test = Box<dyn Fn(&Heard) -> bool + Send + Sync>;
type Choice = Box<dyn Fn(&Heard) -> Play + Send + Sync>;

enum Plays {
    Turns(VecDeque<Play>),
    Chosen(Choice),
}

struct Rule {
    early: bool,
    test: Test,
    plays: Plays,
}

/// What open connections are told. Each counter only grows.
#[derive(Clone, Copy, Debug, Default)]
struct Orders {
    close_idle: usize,
    stop: bool,
}

/// What all connections of one side share.
struct Board {
    rules: Mutex<Vec<Rule>>,
    journal: Journal,
    orders: watch::Sender<Orders>,
    reset_at_once: AtomicBool,
}

/// A scripted engine or upstream. Dropping it closes everything.
pub struct Scripted {
    address: Address,
    board: Arc<Board>,
    accepting: JoinHandle<()>,
    /// After a stop: keeps the port from becoming somebody else's.
    held: Option<TcpSocket>,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("address", &self.address).finish_non_exhaustive()
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => {
                let stream = listener.accept().await?.0;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Self::Unix(listener) => Ok(Stream::Unix(listener.accept().await?.0)),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        match self {
            Self::Tcp(listener) => hang_up(listener),
            Self::Unix(listener) => hang_up(listener),
        }
    }
}

impl Scripted {
    /// A side on a free loopback port.
    ///
    /// # Errors
    /// What the bind says.
    pub async fn tcp() -> io::Result<Self> {
        let listener = share(SocketAddr::from(([127, 0, 0, 1], 0)))?.listen(1024)?;
        let address = Address::Tcp(listener.local_addr()?);
        Ok(Self::start(Listener::Tcp(listener), address))
    }

    /// A side on a Unix socket.
    ///
    /// # Errors
    /// What the bind says.
    pub fn unix(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        Ok(Self::start(Listener::Unix(listener), Address::Unix(path.to_owned())))
    }

    fn start(listener: Listener, address: Address) -> Self {
        let board = Arc::new(Board {
            rules: Mutex::new(Vec::new()),
            journal: Journal::default(),
            orders: watch::Sender::new(Orders::default()),
            reset_at_once: AtomicBool::new(false),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&board)));
        Self { address, board, accepting, held: None }
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it saw.
    pub fn journal(&self) -> &Journal {
        &self.board.journal
    }

    /// Plays this for every request that passes `test`. Later rules come before earlier ones.
    pub fn when(&self, test: impl Fn(&Heard) -> bool + Send + Sync + 'static, play: impl Into<Play>) {
        self.add(false, Box::new(test), Plays::Turns(VecDeque::from([play.into()])));
    }

    /// Plays this for every request that names the model.
    pub fn on_model(&self, model: &str, play: impl Into<Play>) {
        self.turns(model, vec![play.into()]);
    }

    /// Plays these in turn for the requests that name the model; the last one is repeated.
    pub fn turns(&self, model: &str, plays: Vec<Play>) {
        let model = model.to_owned();
        let test = move |heard: &Heard| heard.model().as_ref() == Some(&model);
        self.add(false, Box::new(test), Plays::Turns(plays.into()));
    }

    /// Plays `before` for the requests that name the model, and `after` once the gate is open.
    pub fn until(&self, model: &str, gate: &Gate, before: impl Into<Play>, after: impl Into<Play>) {
        let (model, gate) = (model.to_owned(), gate.clone());
        let (before, after) = (before.into(), after.into());
        self.choose(
            move |heard| heard.model().as_ref() == Some(&model),
            move |_| if gate.is_open() { after.clone() } else { before.clone() },
        );
    }

    /// Plays this for every request to the path.
    pub fn on_path(&self, path: &str, play: impl Into<Play>) {
        let path = path.to_owned();
        self.when(move |heard| heard.path() == path, play);
    }

    /// Plays this for every request that no other rule takes.
    pub fn on_any(&self, play: impl Into<Play>) {
        self.when(|_| true, play);
    }

    /// Plays what `choose` says for every request that passes `test`.
    pub fn choose(
        &self,
        test: impl Fn(&Heard) -> bool + Send + Sync + 'static,
        choose: impl Fn(&Heard) -> Play + Send + Sync + 'static,
    ) {
        self.add(false, Box::new(test), Plays::Chosen(Box::new(choose)));
    }

    /// Plays this as soon as the head of a request to the path was read, and leaves its body unread.
    pub fn early_on_path(&self, path: &str, play: impl Into<Play>) {
        let path = path.to_owned();
        let test = move |heard: &Heard| heard.path() == path;
        self.add(true, Box::new(test), Plays::Turns(VecDeque::from([play.into()])));
    }

    /// From now on every new connection is reset before anything is read.
    pub fn reset_connections(&self) {
        self.board.reset_at_once.store(true, Ordering::Relaxed);
    }

    /// Closes the connections that wait for a request.
    pub fn close_idle(&self) {
        self.board.orders.send_modify(|orders| orders.close_idle += 1);
    }

    /// Stops: no listener and no connection any more. The port refuses from here on.
    ///
    /// # Errors
    /// A finding when a connection does not end.
    pub async fn stop(&mut self) -> Verdict {
        // Before the listener goes, so that nobody else gets the port in between.
        self.held = hold(&self.address).ok();
        self.accepting.abort();
        // The task was told to end; that it did is all that matters here.
        (&mut self.accepting).await.ok();
        self.board.orders.send_modify(|orders| orders.stop = true);
        let all_over = |record: &Record| record.endings.len() == record.connections;
        self.board.journal.until("every connection to end", all_over).await?;
        Ok(())
    }

    /// Listens again after a stop, at the same port.
    ///
    /// # Errors
    /// It has not been stopped, or was on a Unix socket.
    pub fn resume(&mut self) -> io::Result<()> {
        let held = self.held.take().ok_or(io::ErrorKind::NotConnected)?;
        let listener = held.listen(1024)?;
        self.board.orders.send_modify(|orders| orders.stop = false);
        self.accepting = tokio::spawn(accept(Listener::Tcp(listener), Arc::clone(&self.board)));
        Ok(())
    }

    fn add(&self, early: bool, test: Test, plays: Plays) {
        self.board.rules.lock().push(Rule { early, test, plays });
    }
}

/// Takes the port without listening on it, so that connecting goes on being refused.
fn hold(address: &Address) -> io::Result<TcpSocket> {
    let Address::Tcp(address) = address else { return Err(io::ErrorKind::Unsupported.into()) };
    share(*address)
}

/// A socket that shares its port with others of this process: one may take the port over before another lets go of it.
fn share(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.accepting.abort();
        self.board.orders.send_modify(|orders| orders.stop = true);
    }
}

async fn accept(listener: Listener, board: Arc<Board>) {
    while let Ok(stream) = listener.accept().await {
        let mut number = 0;
        board.journal.note(|record| {
            record.connections += 1;
            number = record.connections;
        });
        let connection = Connection { board: Arc::clone(&board), number };
        if board.reset_at_once.load(Ordering::Relaxed) {
            Pipe::new(stream).reset();
            connection.ended(false);
            continue;
        }
        tokio::spawn(connection.run(Pipe::new(stream)));
    }
}

struct Connection {
    board: Arc<Board>,
    number: usize,
}

/// What a play leaves behind.
enum After {
    Kept(Pipe),
    Ended { by_peer: bool },
}

impl Connection {
    async fn run(self, pipe: Pipe) {
        let mut orders = self.board.orders.subscribe();
        let stopped = async { orders.wait_for(|orders| orders.stop).await.map(|_| ()) };
        tokio::select! {
            by_peer = self.requests(pipe) => self.ended(by_peer),
            _ = stopped => self.ended(false),
        }
    }

    fn ended(&self, by_peer: bool) {
        let ending = Ending { connection: self.number, by_peer };
        self.board.journal.note(|record| {
            if !record.endings.iter().any(|known| known.connection == ending.connection) {
                record.endings.push(ending);
            }
        });
    }

    /// Serves one request after another; says whether it was the peer that ended the connection.
    async fn requests(&self, mut pipe: Pipe) -> bool {
        loop {
            let Some(heard) = self.next(&mut pipe).await else { return true };
            let Some(heard) = heard else { return false };
            let play = self.board.pick(&heard);
            self.board.journal.note(|record| record.heard.push(heard));
            match self.play(pipe, play).await {
                After::Kept(kept) => pipe = kept,
                After::Ended { by_peer } => return by_peer,
            }
        }
    }

    /// The next request: nothing when the peer is gone, `Some(None)` when an order closed the idle connection.
    async fn next(&self, pipe: &mut Pipe) -> Option<Option<Heard>> {
        let mut orders = self.board.orders.subscribe();
        let before = orders.borrow_and_update().close_idle;
        let head = tokio::select! {
            head = pipe.head() => head,
            _ = orders.wait_for(|orders| orders.close_idle > before) => return Some(None),
        };
        let Ok(Some(head)) = head else {
            let rest = pipe.take_unread();
            if !rest.is_empty() {
                self.board.journal.note(|record| record.fragments.push(rest));
            }
            return None;
        };
        let framing = head.request_framing();
        let mut heard = Heard { connection: self.number, head, body: Vec::new(), whole: framing == Framing::Empty };
        if !heard.whole && !self.board.is_early(&heard) && !self.body(pipe, framing, &mut heard).await {
            self.board.journal.note(|record| record.heard.push(heard));
            return None;
        }
        Some(Some(heard))
    }

    async fn body(&self, pipe: &mut Pipe, framing: Framing, heard: &mut Heard) -> bool {
        if heard.head.field("expect").is_some() && pipe.send(b"HTTP/1.1 100 Continue\r\n\r\n").await.is_err() {
            return false;
        }
        let mut left = if let Framing::Length(length) = framing { length } else { 0 };
        loop {
            match pipe.part(framing, &mut left).await {
                Ok(Some(part)) => heard.body.extend_from_slice(&part),
                Ok(None) => {
                    heard.whole = true;
                    return true;
                }
                Err(_) => return false,
            }
        }
    }

    async fn play(&self, mut pipe: Pipe, play: Play) -> After {
        for step in play.steps {
            match step {
                Step::Send(bytes) => {
                    if pipe.send(&bytes).await.is_err() {
                        return After::Ended { by_peer: true };
                    }
                }
                Step::Repeat(bytes, count) => {
                    for _ in 0..count {
                        if pipe.send(&bytes).await.is_err() {
                            return After::Ended { by_peer: true };
                        }
                    }
                }
                Step::Await(gate) => {
                    tokio::select! {
                        () = gate.pass() => {}
                        () = left(&mut pipe) => return After::Ended { by_peer: true },
                    }
                }
                Step::Take(count) => {
                    while pipe.unread().len() < count {
                        if !pipe.fill().await.unwrap_or(false) {
                            return After::Ended { by_peer: true };
                        }
                    }
                }
                Step::Ignore => std::future::pending().await,
                Step::Stall => {
                    left(&mut pipe).await;
                    return After::Ended { by_peer: true };
                }
                Step::Cut => {
                    pipe.reset();
                    return After::Ended { by_peer: false };
                }
                Step::Close => {
                    self.ended(false);
                    // A close with bytes unread would be a reset, which can overtake the answer.
                    if pipe.half_close().await.is_ok() {
                        left(&mut pipe).await;
                    }
                    return After::Ended { by_peer: false };
                }
                Step::Echo => {
                    echo(&mut pipe).await.ok();
                    return After::Ended { by_peer: true };
                }
            }
        }
        After::Kept(pipe)
    }
}

/// Comes back when the peer has closed. What it sends meanwhile is kept.
async fn left(pipe: &mut Pipe) {
    while let Ok(true) = pipe.fill().await {}
}

async fn echo(pipe: &mut Pipe) -> io::Result<()> {
    loop {
        let bytes = pipe.take_unread();
        pipe.send(&bytes).await?;
        if !pipe.fill().await? {
            return Ok(());
        }
    }
}

impl Board {
    fn is_early(&self, heard: &Heard) -> bool {
        self.rules.lock().iter().any(|rule| rule.early && (rule.test)(heard))
    }

    fn pick(&self, heard: &Heard) -> Play {
        let mut rules = self.rules.lock();
        let whole = heard.whole;
        let found = rules.iter_mut().rev().find(|rule| (rule.early || whole) && (rule.test)(heard));
        match found.map(|rule| &mut rule.plays) {
            Some(Plays::Turns(turns)) if turns.len() > 1 => turns.pop_front().unwrap_or_default(),
            Some(Plays::Turns(turns)) => turns.front().cloned().unwrap_or_default(),
            Some(Plays::Chosen(choose)) => choose(heard),
            None => Answer::new(500).body(format!("nothing was scripted for {}", heard.head.start())).into(),
        }
    }
}
