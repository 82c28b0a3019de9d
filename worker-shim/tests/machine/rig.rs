//! One machine in a world that a table describes: what happens, what the machine then says, and what it wants done.

use spillway_filters::feed::{Activity, Condition, Moment, State, Wish};
use spillway_filters::presets::Preset;
use spillway_filters::sighting::Model;
use spillway_shim::asked::Reply;
use spillway_shim::probe::{Reach, Sighting};
use spillway_shim::state::{Action, Event, Machine, Order, Outcome, Setup};
use std::collections::VecDeque;

/// One line of a table.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// This happens.
    On(Event),
    /// The engine is like this from now on, and the machine's next look shows it.
    See(Sighting),
    /// So many milliseconds pass. Looks are answered with what the engine is like.
    After(u64),
    /// The oldest call that is out is answered.
    Called(Outcome),
}

pub(crate) struct Rig {
    pub(crate) machine: Machine,
    pub(crate) now: Moment,
    pub(crate) sight: Sighting,
    /// Whether looks are answered.
    pub(crate) blind: bool,
    pub(crate) orders: VecDeque<Order>,
    pub(crate) looks: u64,
    /// Whether the last look asked for the queue.
    pub(crate) asked_queue: bool,
    /// The life of the engine that is to be observed, until a test takes it.
    pub(crate) observes: Option<u64>,
    done: Vec<String>,
}

/// The engine is ours, is not put to sleep by itself, and has 30 s to drain and 10 s to stop.
pub(crate) fn setup(preset: &'static Preset) -> Setup {
    Setup { preset, owned: true, idle_sleep_ms: None, max_waiting: None, drain_ms: 30_000, stop_ms: 10_000 }
}

impl Rig {
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            machine: Machine::new(setup),
            now: Moment::from_millis(1_000_000),
            sight: reach(Reach::Refused),
            blind: false,
            orders: VecDeque::new(),
            looks: 0,
            asked_queue: false,
            observes: None,
            done: Vec::new(),
        }
    }

    /// An engine that was started and is ready, five seconds later.
    pub(crate) fn up(setup: Setup, sight: Sighting) -> Self {
        let mut rig = Self::new(setup);
        rig.on(Event::Begun);
        if setup.owned {
            rig.on(Event::Spawned);
            rig.pass(5_000);
        }
        rig.see(sight);
        rig.done.clear();
        rig
    }

    pub(crate) fn on(&mut self, event: Event) {
        let mut actions = VecDeque::from(self.machine.on(event, self.now));
        while let Some(action) = actions.pop_front() {
            if let Action::Look { round, queue } = action {
                self.looks += 1;
                self.asked_queue = queue;
                if !self.blind {
                    let event = Event::Looked(round, self.sight.clone());
                    actions.extend(self.machine.on(event, self.now));
                }
            } else {
                self.note(action);
            }
        }
    }

    fn note(&mut self, action: Action) {
        let text = match action {
            Action::Identify(life) => {
                self.observes = Some(life);
                return;
            }
            Action::Look { .. } | Action::Abort => return,
            Action::Spawn => "spawn".to_owned(),
            Action::Signal(signal) => signal.as_str().to_owned(),
            Action::Reply(Reply::Done) => "done".to_owned(),
            Action::Reply(Reply::Begun) => "begun".to_owned(),
            Action::Reply(Reply::Refused(refused)) => {
                let wait = refused.retry_after_s.map_or_else(String::new, |wait| format!(" {wait}"));
                format!("{} {}{wait}", refused.status, refused.code)
            }
            Action::Exit(exit) => format!("exit {}", exit.code()),
            Action::Call(order) => {
                let text = format!("{} {}", order.call.path, order.model).trim_end().to_owned();
                self.orders.push_back(order);
                text
            }
        };
        self.done.push(text);
    }

    pub(crate) fn see(&mut self, sight: Sighting) {
        self.sight = sight;
        let looks = self.looks;
        for _ in 0..100 {
            if self.looks > looks {
                return;
            }
            self.now = self.machine.due().expect("it will look again").max(self.now);
            self.on(Event::Tick);
        }
        panic!("it did not look");
    }

    pub(crate) fn pass(&mut self, millis: u64) {
        let end = self.now.plus(millis);
        for _ in 0..100_000 {
            let Some(due) = self.machine.due().filter(|due| *due <= end) else {
                self.now = end;
                return;
            };
            self.now = due.max(self.now);
            self.on(Event::Tick);
        }
        panic!("it wants to be called again and again");
    }

    pub(crate) fn step(&mut self, step: Step) {
        match step {
            Step::On(event) => self.on(event),
            Step::See(sight) => self.see(sight),
            Step::After(millis) => self.pass(millis),
            Step::Called(outcome) => {
                let order = self.orders.pop_front().expect("a call is out");
                self.on(Event::Called(order.id, outcome));
            }
        }
    }

    /// What was done since this was asked last.
    pub(crate) fn done(&mut self) -> String {
        std::mem::take(&mut self.done).join(", ")
    }

    pub(crate) fn engine(&self) -> String {
        say(&self.machine.snapshot(self.now).engine)
    }

    pub(crate) fn model(&self, name: &str) -> String {
        self.machine.snapshot(self.now).models.get(name).map_or_else(|| "-".to_owned(), say)
    }

    /// Goes through a table: a step, what the engine is then, and what is done.
    pub(crate) fn walk(&mut self, table: &[(Step, &str, &str)]) {
        for (row, (step, engine, done)) in table.iter().enumerate() {
            self.step(step.clone());
            assert_eq!((self.engine().as_str(), self.done().as_str()), (*engine, *done), "row {row}: {step:?}");
        }
    }

    /// As [`Rig::walk`], with what a model is in the middle.
    pub(crate) fn walk_model(&mut self, name: &str, table: &[(Step, &str, &str)]) {
        for (row, (step, model, done)) in table.iter().enumerate() {
            self.step(step.clone());
            assert_eq!((self.model(name).as_str(), self.done().as_str()), (*model, *done), "row {row}: {step:?}");
        }
    }
}

fn say(condition: &Condition) -> String {
    let why = condition.why.map_or_else(String::new, |why| {
        let token = serde_json::to_string(&why).expect("it renders");
        format!(" {}", token.trim_matches('"'))
    });
    let ready_in = condition.ready_in_ms.map_or_else(String::new, |millis| format!(" in {millis}"));
    let progress = condition.progress.as_ref().map_or_else(String::new, |progress| format!(" ({progress})"));
    format!("{}{why}{ready_in}{progress}", condition.state.token())
}

pub(crate) const fn reach(reach: Reach) -> Sighting {
    Sighting::only(reach)
}

pub(crate) const fn status(status: u16) -> Sighting {
    Sighting::only(Reach::Answered(status))
}

/// A well engine with this to do.
pub(crate) fn queue(running: u64, waiting: u64) -> Sighting {
    Sighting { running: Some(running), waiting: Some(waiting), ..status(200) }
}

/// A well engine that tells whether it sleeps.
pub(crate) fn asleep(asleep: bool) -> Sighting {
    Sighting { asleep: Some(asleep), ..status(200) }
}

/// A well engine with these models.
pub(crate) fn listing(models: &[(&str, State)]) -> Sighting {
    let model = |(name, state): &(&str, State)| Model {
        name: (*name).to_owned(),
        state: *state,
        failed: *state == State::Unhealthy,
    };
    Sighting { models: Some(models.iter().map(model).collect()), ..status(200) }
}

pub(crate) fn load(model: &str) -> Step {
    Step::On(Event::Load(wish(model)))
}

pub(crate) fn sleep(model: &str) -> Step {
    Step::On(Event::Sleep(wish(model)))
}

fn wish(model: &str) -> Wish {
    Wish { model: (!model.is_empty()).then(|| model.to_owned()) }
}

pub(crate) fn activity(name: &str, seq: u64, in_flight: u64, started: u64) -> Event {
    Event::Activity(Activity { r#as: name.to_owned(), seq, in_flight, started })
}
