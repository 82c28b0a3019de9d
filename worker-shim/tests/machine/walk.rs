//! Whatever happens in whatever order, some things never do.

use crate::engines::{PLAIN, PRESETS};
use crate::rig::{activity, listing, queue, reach, setup, status};
use nix::sys::signal::Signal;
use proptest::prelude::*;
use spillway_filters::feed::{Moment, State, Wish};
use spillway_shim::probe::{Reach, Sighting};
use spillway_shim::state::{Action, Event, Exit, Machine, Outcome, Setup, SpawnFault};

/// Things that may happen at any time; what follows from an action is made by the world below.
#[derive(Clone, Debug)]
enum Chance {
    Pass(u64),
    Load(Option<String>),
    Sleep(Option<String>),
    InFlight(u64),
    Come,
    Leave,
    EngineEnds(u8),
    EngineIs(u8),
    AnswerCall(Outcome),
    AnswerLook,
    Term,
}

fn chances() -> impl Strategy<Value = Vec<Chance>> {
    let model = prop_oneof![Just(None), Just(Some("m".to_owned())), Just(Some("n".to_owned()))];
    let outcome = prop_oneof![Just(Outcome::Done), Just(Outcome::Missing), Just(Outcome::Failed)];
    let chance = prop_oneof![
        6 => (0_u64..20_000).prop_map(Chance::Pass),
        1 => (20_000_u64..900_000).prop_map(Chance::Pass),
        2 => model.clone().prop_map(Chance::Load),
        2 => model.prop_map(Chance::Sleep),
        3 => (0_u64..3).prop_map(Chance::InFlight),
        1 => Just(Chance::Come),
        1 => Just(Chance::Leave),
        1 => prop_oneof![Just(0_u8), Just(1), Just(137)].prop_map(Chance::EngineEnds),
        3 => (0_u8..7).prop_map(Chance::EngineIs),
        3 => outcome.prop_map(Chance::AnswerCall),
        6 => Just(Chance::AnswerLook),
        1 => Just(Chance::Term),
    ];
    proptest::collection::vec(chance, 1..120)
}

/// The world around a machine, which does what it is told and remembers what must hold.
struct World {
    machine: Machine,
    now: Moment,
    sight: Sighting,
    /// A process, or what is left of its group, is there.
    process: bool,
    look: Option<u64>,
    orders: Vec<u64>,
    streams: u32,
    /// What the subscriber said last: the snapshot and its requests.
    said: Option<(u64, u64)>,
    /// The first snapshot that told of the sleep that goes on.
    told: Option<u64>,
    drains_until: Option<Moment>,
    over: bool,
}

impl World {
    fn feed(&mut self, event: Event) {
        let before = self.machine.seq();
        let actions = self.machine.on(event, self.now);
        assert!(self.machine.seq() >= before, "the number of the snapshot fell");
        assert!(!self.over || actions.is_empty(), "it acts after its end");
        self.hear();
        for action in actions {
            self.obey(action);
        }
        assert!(self.orders.len() <= 66, "calls without end");
    }

    fn hear(&mut self) {
        let snapshot = self.machine.snapshot(self.now);
        let down = |state| matches!(state, State::Asleep | State::Draining);
        let is_down = down(snapshot.engine.state) || snapshot.models.values().any(|model| down(model.state));
        self.told = if is_down { self.told.or(Some(snapshot.seq)) } else { None };
    }

    fn obey(&mut self, action: Action) {
        match action {
            Action::Spawn => {
                assert!(!self.process, "two processes at once");
                self.process = true;
                self.feed(Event::Spawned);
            }
            Action::Signal(Signal::SIGTERM) => self.must_be_quiet(),
            Action::Call(order) => {
                if ["/sleep", "/unload"].contains(&order.call.path) {
                    self.must_be_quiet();
                }
                self.orders.push(order.id);
            }
            Action::Look { round, .. } => self.look = Some(round),
            Action::Abort => self.orders.clear(),
            Action::Exit(exit) => {
                assert!(matches!(exit, Exit::Engine(_)));
                self.over = true;
            }
            Action::Signal(_) | Action::Identify(_) | Action::Reply(_) => {}
        }
    }

    /// Nothing is put to sleep or ended while a subscriber has requests, unless the drain's time is up.
    fn must_be_quiet(&self) {
        let late = self.drains_until.is_some_and(|until| until <= self.now);
        if self.streams > 0 && !late {
            let (seq, in_flight) = self.said.expect("a subscriber that said nothing was not waited for");
            assert_eq!(in_flight, 0, "a request is under way");
            assert!(seq >= self.told.expect("nobody was told"), "the subscriber did not know");
        }
    }

    fn pass(&mut self, millis: u64) {
        let end = self.now.plus(millis);
        for _ in 0..20_000 {
            let Some(due) = self.machine.due().filter(|due| *due <= end) else {
                self.now = end;
                return;
            };
            self.now = due.max(self.now);
            self.feed(Event::Tick);
            self.answer_look();
        }
        panic!("it never rests");
    }

    fn answer_look(&mut self) {
        if let Some(round) = self.look.take() {
            let sight = if self.process { self.sight.clone() } else { reach(Reach::Refused) };
            self.feed(Event::Looked(round, sight));
        }
    }

    fn happen(&mut self, chance: Chance) {
        match chance {
            Chance::Pass(millis) => self.pass(millis),
            Chance::Load(model) => self.feed(Event::Load(Wish { model })),
            Chance::Sleep(model) => self.feed(Event::Sleep(Wish { model })),
            Chance::InFlight(in_flight) if self.streams > 0 => {
                let seq = self.machine.seq();
                self.said = Some((seq, in_flight));
                self.feed(activity("a", seq, in_flight, 1));
            }
            Chance::Come => {
                self.streams += 1;
                self.feed(Event::Subscribed("a".into()));
            }
            Chance::Leave if self.streams > 0 => {
                self.streams -= 1;
                self.feed(Event::Left("a".into()));
            }
            Chance::EngineEnds(code) if self.process => {
                self.feed(Event::Ended(code));
                self.look = None;
                self.process = false;
                self.feed(Event::Cleared);
            }
            Chance::EngineIs(kind) => {
                let list = |state| listing(&[("m", state), ("n", State::Absent)]);
                let kinds = [reach(Reach::Refused), reach(Reach::Silent), status(503), status(500), queue(0, 0)];
                let lists = [list(State::Ready), list(State::Loading)];
                self.sight = kinds.into_iter().chain(lists).nth(kind.into()).expect("one of them");
            }
            Chance::AnswerCall(outcome) => {
                if let Some(order) = self.orders.pop() {
                    self.feed(Event::Called(order, outcome));
                }
            }
            Chance::AnswerLook => self.answer_look(),
            Chance::Term => {
                self.drains_until = Some(self.drains_until.unwrap_or_else(|| self.now.plus(30_000)));
                if self.machine.snapshot(self.now).engine.state != State::Draining {
                    self.feed(Event::Signal(Signal::SIGTERM));
                }
            }
            Chance::InFlight(_) | Chance::Leave | Chance::EngineEnds(_) => {}
        }
    }
}

proptest! {
    #[test]
    fn there_is_one_process_and_nothing_is_done_under_a_request(preset in 0..PRESETS.len(), chances in chances()) {
        let setup = Setup { idle_sleep_ms: Some(50_000), max_waiting: Some(2), ..setup(PRESETS[preset]) };
        let mut world = World {
            machine: Machine::new(setup),
            now: Moment::from_millis(0),
            sight: status(200),
            process: false,
            look: None,
            orders: Vec::new(),
            streams: 0,
            said: None,
            told: None,
            drains_until: None,
            over: false,
        };
        world.feed(Event::Begun);
        for chance in chances {
            if world.over {
                break;
            }
            world.happen(chance);
        }
    }

    #[test]
    fn a_program_that_cannot_be_started_again_is_tried_less_and_less(faults in 5_u64..20) {
        let mut machine = Machine::new(setup(&PLAIN));
        let mut now = Moment::from_millis(0);
        machine.on(Event::Begun, now);
        machine.on(Event::Spawned, now);
        machine.on(Event::Ended(1), now);
        let mut actions = machine.on(Event::Cleared, now);
        let mut starts = 0;
        while starts < faults {
            if actions.contains(&Action::Spawn) {
                starts += 1;
                actions = machine.on(Event::NotSpawned(SpawnFault::NotFound), now);
            } else if let Some(due) = machine.due() {
                now = due;
                actions = machine.on(Event::Tick, now);
            }
        }
        // Four times soon, and then after pauses of up to ten minutes: 1 + 2 + 4 + 8 s, and 1 + 2 + 4 + 8 + 10 + 10 … min.
        let pauses: u64 = (4..faults).map(|latch| 600_000.min(60_000 << (latch - 4))).sum();
        prop_assert_eq!(now.since(Moment::from_millis(0)), 15_000 + pauses);
    }
}
