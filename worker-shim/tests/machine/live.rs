//! After whatever, a world that behaves leads to what is wished: nothing is stuck.

use crate::engines::PRESETS;
use crate::rig::{activity, listing, queue, reach, setup, status};
use nix::sys::signal::Signal;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use spillway_filters::feed::{Moment, State, Wish};
use spillway_filters::presets::Wake;
use spillway_shim::probe::{Reach, Sighting};
use spillway_shim::state::{Action, Event, Machine, Order, Outcome, Setup};
use std::collections::BTreeMap;

/// What may happen before the world behaves.
#[derive(Clone, Debug)]
enum Chance {
    Pass(u64),
    Load(Option<String>),
    Sleep(Option<String>),
    InFlight(u64),
    Come,
    Leave,
    EngineEnds(u8),
    GroupEnds,
    EngineIs(usize),
    AnswerCall(Outcome),
    AnswerLook,
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
        1 => prop_oneof![Just(1_u8), Just(137)].prop_map(Chance::EngineEnds),
        2 => Just(Chance::GroupEnds),
        3 => (0_usize..8).prop_map(Chance::EngineIs),
        3 => outcome.prop_map(Chance::AnswerCall),
        6 => Just(Chance::AnswerLook),
    ];
    proptest::collection::vec(chance, 1..100)
}

struct World {
    machine: Machine,
    setup: Setup,
    now: Moment,
    /// Everything is done as it is asked, at once.
    behaves: bool,
    /// What a look shows until then.
    sight: Sighting,
    process: bool,
    /// The process has ended, and something of its group is left.
    group: bool,
    asleep: bool,
    /// Which models are loaded.
    loaded: BTreeMap<&'static str, bool>,
    look: Option<u64>,
    orders: Vec<Order>,
    streams: u32,
    over: bool,
}

impl World {
    fn new(setup: Setup) -> Self {
        let mut world = Self {
            machine: Machine::new(setup),
            setup,
            now: Moment::from_millis(0),
            behaves: false,
            sight: status(200),
            process: false,
            group: false,
            asleep: false,
            loaded: BTreeMap::from([("m", true), ("n", false)]),
            look: None,
            orders: Vec::new(),
            streams: 0,
            over: false,
        };
        world.feed(Event::Begun);
        world
    }

    fn serves_several(&self) -> bool {
        self.setup.preset.watch.models.is_some()
    }

    fn feed(&mut self, event: Event) {
        for action in self.machine.on(event, self.now) {
            match action {
                Action::Spawn => {
                    (self.process, self.asleep) = (true, false);
                    self.loaded.values_mut().for_each(|loaded| *loaded = false);
                    self.feed(Event::Spawned);
                }
                Action::Signal(Signal::SIGKILL) => self.end(137),
                Action::Signal(Signal::SIGTERM) if self.behaves => self.end(0),
                Action::Call(order) => self.orders.push(order),
                Action::Look { round, .. } => self.look = Some(round),
                Action::Abort => self.orders.clear(),
                Action::Exit(_) => self.over = true,
                Action::Signal(_) | Action::Identify(_) | Action::Reply(_) => {}
            }
        }
    }

    fn end(&mut self, code: u8) {
        if self.process {
            (self.process, self.group, self.look) = (false, true, None);
            self.feed(Event::Ended(code));
            if self.behaves {
                self.clear();
            }
        }
    }

    fn clear(&mut self) {
        if self.group {
            self.group = false;
            self.feed(Event::Cleared);
        }
    }

    fn answer_look(&mut self) {
        let Some(round) = self.look.take() else { return };
        let sight = match (self.process || !self.setup.owned, self.behaves) {
            (false, _) => reach(Reach::Refused),
            (true, false) => self.sight.clone(),
            (true, true) => self.true_sight(),
        };
        self.feed(Event::Looked(round, sight));
    }

    fn true_sight(&self) -> Sighting {
        let state = |loaded: &bool| if *loaded { State::Ready } else { State::Absent };
        let models: Vec<_> = self.loaded.iter().map(|(name, loaded)| (*name, state(loaded))).collect();
        let models = listing(&models).models.filter(|_| self.serves_several());
        Sighting { models, asleep: Some(self.asleep), ..queue(0, 0) }
    }

    fn behave(&mut self) {
        self.clear();
        while let Some(order) = self.orders.pop() {
            let mut load = |is_loaded| {
                self.loaded.entry(if order.model == "m" { "m" } else { "n" }).and_modify(|loaded| *loaded = is_loaded);
            };
            match order.call.path {
                "/sleep" => self.asleep = true,
                "/wake_up" => self.asleep = false,
                "/load" => load(true),
                "/unload" => load(false),
                path => panic!("no engine has {path}"),
            }
            self.feed(Event::Called(order.id, Outcome::Done));
        }
        self.answer_look();
        if self.streams > 0 {
            self.feed(activity("a", self.machine.seq(), 0, 1));
        }
    }

    fn pass(&mut self, millis: u64) {
        let end = self.now.plus(millis);
        for _ in 0..50_000 {
            if self.over {
                return;
            }
            if self.behaves {
                self.behave();
            }
            let Some(due) = self.machine.due().filter(|due| *due <= end) else {
                self.now = end;
                return;
            };
            self.now = due.max(self.now);
            self.feed(Event::Tick);
            if !self.behaves {
                self.answer_look();
            }
        }
        panic!("it never rests");
    }

    fn happen(&mut self, chance: Chance) {
        match chance {
            Chance::Pass(millis) => self.pass(millis),
            Chance::Load(model) => self.feed(Event::Load(Wish { model })),
            Chance::Sleep(model) => self.feed(Event::Sleep(Wish { model })),
            Chance::InFlight(count) if self.streams > 0 => self.feed(activity("a", self.machine.seq(), count, 1)),
            Chance::Come => {
                self.streams += 1;
                self.feed(Event::Subscribed("a".into()));
            }
            Chance::Leave if self.streams > 0 => {
                self.streams -= 1;
                self.feed(Event::Left("a".into()));
            }
            Chance::EngineEnds(code) => self.end(code),
            Chance::GroupEnds => self.clear(),
            Chance::EngineIs(kind) => {
                let list = |state| listing(&[("m", state), ("n", State::Absent)]);
                let kinds =
                    [reach(Reach::Refused), reach(Reach::Silent), status(503), status(500), queue(0, 0), queue(5, 5)];
                let lists = [list(State::Ready), list(State::Loading)];
                self.sight = kinds.into_iter().chain(lists).nth(kind).expect("one of them");
                self.sight.models = self.sight.models.take().filter(|_| self.serves_several());
            }
            Chance::AnswerCall(outcome) => {
                if let Some(order) = self.orders.pop() {
                    self.feed(Event::Called(order.id, outcome));
                }
            }
            Chance::AnswerLook => self.answer_look(),
            Chance::InFlight(_) | Chance::Leave => {}
        }
    }

    fn is(&self, state: State) -> bool {
        self.machine.snapshot(self.now).engine.state == state
    }

    fn is_down(&self) -> bool {
        let nothing_is_loaded = self.serves_several() && self.loaded.values().all(|loaded| !loaded);
        self.is(State::Asleep) || nothing_is_loaded
    }

    /// Wishes for something until it is so: four hours are more than every pause after failures.
    fn until(&mut self, event: &Event, is: impl Fn(&Self) -> bool) {
        for _ in 0..240 {
            if self.over || is(self) {
                return;
            }
            self.feed(event.clone());
            self.pass(60_000);
        }
        panic!("never after {event:?}: {:?}", self.machine.snapshot(self.now));
    }

    fn must_end(&mut self) {
        self.feed(Event::Signal(Signal::SIGTERM));
        // Longer than the drain and the stop; what is left of a group ends late.
        for _ in 0..30 {
            self.pass(4_000);
            self.clear();
        }
        assert!(self.over, "it does not end: {:?}", self.machine.snapshot(self.now));
    }
}

proptest! {
    // Histories that are the same every time, and no more than take a second or two.
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(4), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_wished_for_comes(preset in 0..PRESETS.len(), owned in any::<bool>(), chances in chances()) {
        let setup = Setup { owned, idle_sleep_ms: Some(500_000), max_waiting: Some(2), ..setup(PRESETS[preset]) };
        let mut world = World::new(setup);
        for chance in chances {
            if !world.over {
                world.happen(chance);
            }
        }
        world.behaves = true;
        world.pass(1_000);
        let wish = |model: &str| Wish { model: (!model.is_empty()).then(|| model.to_owned()) };
        world.until(&Event::Load(wish("")), |world| world.is(State::Ready));
        if matches!(setup.preset.wake, Wake::Call { .. }) {
            let is_loaded = |world: &World| {
                world.machine.snapshot(world.now).models.get("m").is_some_and(|model| model.state == State::Ready)
            };
            world.until(&Event::Load(wish("m")), is_loaded);
        }
        if owned {
            world.until(&Event::Sleep(wish("")), World::is_down);
            world.until(&Event::Load(wish("")), |world| world.is(State::Ready));
        }
        world.must_end();
    }

    #[test]
    fn whatever_has_happened_it_ends(preset in 0..PRESETS.len(), owned in any::<bool>(), chances in chances()) {
        let setup = Setup { owned, idle_sleep_ms: Some(500_000), max_waiting: Some(2), ..setup(PRESETS[preset]) };
        let mut world = World::new(setup);
        for chance in chances {
            if !world.over {
                world.happen(chance);
            }
        }
        if !world.over {
            world.must_end();
        }
    }
}
