//! One loop: what happens goes into the machine, what it says is done, and what is new is told.
//!
//! Nothing is decided here. `engine` is the process, `signals` what the system sends, `errands` everything that asks the engine, and `words`
//! and `ends` what the operator is told of it.

mod ends;
mod engine;
mod errands;
mod progress;
mod signals;
mod uncounted;
mod unheard;
mod words;

use ends::Fared;
use engine::Engine;
use errands::Errands;
use progress::Progress;
use signals::Signals;
use spillway_filters::feed::{Moment, Snapshot};
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use uncounted::Uncounted;
use unheard::Unheard;

use crate::asked::{Asked, Reply};
use crate::config::Config;
use crate::output::Output;
use crate::serve::{Socket, Told};
use crate::state::{Action, Event, Exit, Machine, Setup, SpawnFault};

/// The exit code when the shim cannot begin: another one listens on its socket, or that cannot be made.
const CANNOT_BEGIN: u8 = 2;
/// How many things that were asked wait for the loop; more wait where they came from.
const ASKED_AHEAD: usize = 64;
/// How long the last snapshot has to reach everybody when the shim ends.
const FAREWELL: Duration = Duration::from_millis(200);

/// Speaks for one engine until that, or the shim, is told to end. Gives the exit code.
pub async fn run(config: Config) -> u8 {
    let config = Arc::new(config);
    match Shim::new(config.clone()) {
        Ok(shim) => {
            words::begun(&config);
            shim.run().await
        }
        Err(error) => {
            let mend = words::mend(&config.socket, error.kind());
            tracing::error!(%error, socket = %config.socket, "the shim cannot begin{mend}");
            CANNOT_BEGIN
        }
    }
}

struct Shim {
    config: Arc<Config>,
    machine: Machine,
    started: Instant,
    engine: Engine,
    errands: Errands,
    signals: Signals,
    unheard: Unheard,
    uncounted: Uncounted,
    output: Arc<Output>,
    progress: Progress,
    asked: mpsc::Receiver<Asked>,
    state: watch::Sender<Arc<Told>>,
    /// Streams that are open under a name.
    readers: usize,
    door: Door,
}

/// The socket, before and after it is served.
enum Door {
    Shut(Socket, mpsc::Sender<Asked>),
    Open(JoinHandle<()>),
    Gone,
}

impl Shim {
    fn new(config: Arc<Config>) -> io::Result<Self> {
        let signals = Signals::new()?;
        let socket = Socket::bind(&config.socket, config.socket_mode)?;
        let output = Output::new(config.preset.launch.progress);
        let machine = Machine::new(Setup::from(&*config));
        let (sender, asked) = mpsc::channel(ASKED_AHEAD);
        Ok(Self {
            engine: Engine::new(&config, output.clone())?,
            errands: Errands::new(config.clone()),
            state: watch::Sender::new(Arc::new(Told::new(machine.snapshot(Moment::default())))),
            unheard: Unheard::default(),
            uncounted: Uncounted::of(&config),
            progress: Progress::of(output.clone()),
            started: Instant::now(),
            readers: 0,
            door: Door::Shut(socket, sender),
            config,
            machine,
            signals,
            output,
            asked,
        })
    }

    async fn run(mut self) -> u8 {
        let (mut exit, mut engine_ended) = (self.on(Event::Begun, None).await, false);
        while exit.is_none() {
            let (event, reply) = self.next().await;
            engine_ended = matches!(event, Event::Cleared);
            exit = self.on(event, reply).await;
        }
        let exit = exit.expect("the loop ended with one");
        words::farewell(exit, engine_ended, &self.config);
        self.end().await;
        exit.code()
    }

    /// What happens next, and who waits for an answer to it.
    async fn next(&mut self) -> (Event, Option<oneshot::Sender<Reply>>) {
        let due = self.machine.due().and_then(|due| self.instant(due));
        tokio::select! {
            signal = self.signals.next() => (Event::Signal(signal), None),
            event = self.engine.next(self.machine.is_ending()) => (event, None),
            event = self.errands.next() => (event, None),
            Some(asked) = self.asked.recv() => self.event(asked),
            progress = self.progress.next() => (Event::Progress(progress), None),
            () = at(due) => (Event::Tick, None),
            () = at(self.unheard.due()) => {
                self.unheard.say(&self.config.engine);
                (Event::Tick, None)
            }
        }
    }

    fn event(&mut self, asked: Asked) -> (Event, Option<oneshot::Sender<Reply>>) {
        self.readers = count(self.readers, &asked);
        match asked {
            Asked::Load(wish, reply) => (Event::Load(wish), Some(reply)),
            Asked::Sleep(wish, reply) => (Event::Sleep(wish), Some(reply)),
            Asked::Activity(activity) => (Event::Activity(activity), None),
            Asked::Subscribed(name) => (Event::Subscribed(name), None),
            Asked::Left(name) => (Event::Left(name), None),
        }
    }

    /// Lets the machine take one event in, tells what is new and does what is to be done.
    async fn on(&mut self, event: Event, mut reply: Option<oneshot::Sender<Reply>>) -> Option<Exit> {
        let mut events = vec![event];
        let mut exit = None;
        while let Some(event) = events.pop() {
            self.unheard.take(&event);
            self.uncounted.take(&event);
            let fared = Fared::of(&event, self.engine.end());
            let actions = self.machine.on(event, self.now());
            if let Some(fared) = fared {
                fared.say(self.machine.restart(), self.now());
            }
            self.tell();
            for action in actions {
                match action {
                    Action::Spawn => events.push(self.start().await),
                    Action::Signal(signal) => self.engine.signal(signal),
                    Action::Look { round, queue } => {
                        self.uncounted.look(round, queue);
                        self.errands.look(round, queue);
                    }
                    Action::Call(order) => self.errands.call(order),
                    Action::Abort => self.errands.abort(),
                    Action::Identify(life) => self.errands.identify(life, self.engine.id()),
                    // Who asked may have gone.
                    Action::Reply(answer) => drop(reply.take().map(|reply| reply.send(answer))),
                    Action::Exit(end) => exit = Some(end),
                }
            }
        }
        exit
    }

    /// Starts the engine, unless somebody else listens there: what that says would be taken for the engine's word.
    async fn start(&mut self) -> Event {
        if self.errands.client().is_there().await {
            words::taken(&self.config.engine);
            return Event::NotSpawned(SpawnFault::Taken);
        }
        self.engine.start(&self.config.command)
    }

    /// Publishes what has changed. Another estimate is kept for those who ask, and is no news.
    fn tell(&mut self) {
        let seq = self.state.borrow().snapshot().seq;
        if self.machine.seq() != seq {
            let snapshot = self.machine.snapshot(self.now());
            words::note(&self.state.borrow().snapshot().engine, &snapshot.engine);
            self.state.send_replace(Arc::new(Told::new(snapshot)));
        } else if has_times(self.state.borrow().snapshot()) {
            let told = Arc::new(Told::new(self.machine.snapshot(self.now())));
            self.state.send_if_modified(|state| {
                *state = told;
                false
            });
        }
        if self.machine.is_informed() {
            self.open();
        }
    }

    /// Serves the socket, as soon as there is something true to say.
    fn open(&mut self) {
        match std::mem::replace(&mut self.door, Door::Gone) {
            Door::Shut(socket, asked) => {
                let serving = socket.serve(self.state.subscribe(), self.output.clone(), asked);
                self.door = Door::Open(tokio::spawn(serving));
            }
            door => self.door = door,
        }
    }

    fn now(&self) -> Moment {
        Moment::from_millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// None: it is too far to come.
    fn instant(&self, moment: Moment) -> Option<Instant> {
        self.started.checked_add(Duration::from_millis(moment.since(Moment::default())))
    }

    /// Lets the last snapshot and the engine's last words out.
    async fn end(self) {
        let Self { state, mut asked, mut readers, mut engine, door, .. } = self;
        // The streams end when they have sent the last snapshot.
        drop(state);
        let told = async {
            while readers > 0
                && let Some(asked) = asked.recv().await
            {
                readers = count(readers, &asked);
            }
        };
        if let Door::Open(serving) = door {
            let _ = timeout(FAREWELL, told).await;
            serving.abort();
            // The socket's file goes with it.
            let _ = serving.await;
        }
        engine.drained().await;
    }
}

/// How many named streams are open after this.
const fn count(readers: usize, asked: &Asked) -> usize {
    match asked {
        Asked::Subscribed(_) => readers + 1,
        Asked::Left(_) => readers.saturating_sub(1),
        Asked::Load(..) | Asked::Sleep(..) | Asked::Activity(_) => readers,
    }
}

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => pending().await,
    }
}

fn has_times(snapshot: &Snapshot) -> bool {
    snapshot.engine.ready_in_ms.is_some() || snapshot.models.values().any(|model| model.ready_in_ms.is_some())
}
