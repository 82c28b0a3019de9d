//! What does the caller see of a tool call that comes in pieces?
//!
//! Its first piece names it, with index, id and type; the later ones bring arguments, and nothing else. Hosts differ: some leave the index
//! or the id out, some repeat or null the id and the name, some count from elsewhere (engines section 4 item 17). Clients join the texts
//! of all pieces, so nothing may stand twice.

use super::chunk::{Fragment, Function};
use super::json::{self, Object};
use crate::answer::{Fields, MAX_CHOICES};
use crate::tools::call_id;
use crate::upstream_status::loose::Text;
use std::borrow::Cow;

/// Most calls of one choice.
const MAX_CALLS: usize = MAX_CHOICES;

/// Longest id or name of a call.
const MAX_NAME_BYTES: usize = 256;

/// The tool calls of one choice. The caller's index of a call is its place.
#[derive(Clone, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

#[derive(Clone, Default)]
struct Call {
    /// The index that the upstream gave it, if any.
    index: Option<u64>,
    /// Empty until it is known.
    id: String,
    /// Empty until it is known; nothing of a call is shown before.
    name: String,
}

/// Whose calls they are: a call that comes without an id is given one of our own by it.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    /// The id of the answer.
    pub(super) answer: &'a str,
    pub(super) choice: usize,
}

/// What is shown of one piece.
pub(super) struct Shown<'a> {
    place: usize,
    /// Id and name, on the first piece.
    opening: Option<(String, String)>,
    arguments: Cow<'a, str>,
}

impl Calls {
    /// Takes a piece: what of it is shown, if anything. None when it is not a piece of a call.
    pub(super) fn take<'a>(&mut self, piece: Fragment<'a>, of: Of<'_>) -> Option<Option<Shown<'a>>> {
        let Fragment { index, id, kind, function } = piece;
        let (id, kind) = (text(id), text(kind));
        let Function { name, arguments } = function.map(|Fields(function)| function).unwrap_or_default();
        let (name, arguments) = (text(name), text(arguments));
        let is_short = id.len() <= MAX_NAME_BYTES && name.len() <= MAX_NAME_BYTES;
        (is_short && matches!(kind.as_ref(), "" | "function")).then_some(())?;
        let place = self.place(index, &id, &name)?;
        let call = &mut self.calls[place];
        if !call.name.is_empty() {
            let repeats = name.is_empty() || name == call.name;
            let says = !arguments.is_empty();
            return repeats.then_some(says.then_some(Shown { place, opening: None, arguments }));
        }
        if call.id.is_empty() {
            call.id = id.into_owned();
        }
        if name.is_empty() {
            // Named before its arguments.
            return arguments.is_empty().then_some(None);
        }
        call.name = name.into_owned();
        Some(Some(Shown { place, opening: Some(call.opening(place, of)), arguments }))
    }

    /// A whole call that was read out of text. None when there are too many.
    pub(super) fn add(&mut self, name: String, arguments: String, of: Of<'_>) -> Option<Shown<'static>> {
        let place = self.begin(None)?;
        let call = &mut self.calls[place];
        call.name = name;
        Some(Shown { place, opening: Some(call.opening(place, of)), arguments: arguments.into() })
    }

    /// Whether each has its name.
    pub(super) fn are_named(&self) -> bool {
        self.calls.iter().all(|call| !call.name.is_empty())
    }

    pub(super) const fn are_none(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call that a piece belongs to. Without an index, a name opens the next call unless the id says otherwise; with one, only a name
    /// under another id does.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let known = |call: &Call| !id.is_empty() && !call.id.is_empty();
        let found = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.len().checked_sub(1),
        };
        let continues = |call: &Call| match index {
            Some(_) => name.is_empty() || !known(call) || id == call.id,
            None => name.is_empty() || call.name.is_empty() || known(call) && id == call.id,
        };
        match found.filter(|place| continues(&self.calls[*place])) {
            Some(place) => Some(place),
            None => self.begin(index),
        }
    }

    fn begin(&mut self, index: Option<u64>) -> Option<usize> {
        (self.calls.len() < MAX_CALLS).then_some(())?;
        self.calls.push(Call { index, ..Call::default() });
        Some(self.calls.len() - 1)
    }
}

impl Call {
    fn opening(&self, place: usize, of: Of<'_>) -> (String, String) {
        let made = || call_id(of.answer, of.choice, place);
        let id = if self.id.is_empty() { made() } else { self.id.clone() };
        (id, self.name.clone())
    }
}

/// Null and missing texts are empty.
fn text(text: Option<Text<'_>>) -> Cow<'_, str> {
    text.map(|text| text.0).unwrap_or_default()
}

impl Shown<'_> {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut piece = Object::open(out);
        json::number(self.place as u64, piece.name("index"));
        if let Some((id, _)) = &self.opening {
            json::text(id, piece.name("id"));
            json::text("function", piece.name("type"));
        }
        let mut function = Object::open(piece.name("function"));
        if let Some((_, name)) = &self.opening {
            json::text(name, function.name("name"));
        }
        json::text(&self.arguments, function.name("arguments"));
        function.close();
        piece.close();
    }
}
