//! Which part of a model's text is its private reasoning? The markers of the model's family say so, wherever the text is cut.
//!
//! What is not certainly public is hidden: after an opening marker everything is, until a closing one comes, also when none comes
//! (contract section 5, reasoning privacy). Not more than one marker is ever held back.

mod families;

use families::{FAMILIES, Family, Marker, Turn};

/// Text taken apart. Markers are in neither half.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// What the caller may read.
    pub shown: String,
    /// Private reasoning.
    pub hidden: String,
}

/// Reads the text of one choice, fragment by fragment.
#[derive(Clone)]
pub struct Reasoning {
    family: &'static Family,
    place: Place,
    /// Nothing was read yet.
    first: bool,
    /// The beginning of what may become a marker.
    held: String,
}

#[derive(Clone, Copy)]
enum Place {
    /// Public text.
    Public,
    /// Private reasoning.
    Private,
    /// Names and headings between markers, which are neither.
    Heading,
    /// Inside a marker with a suffix; the `>` that ends it leads to reasoning, or out of it.
    Marker { private: bool },
}

/// Every format by name, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name)
}

impl Reasoning {
    /// A reader of the format of this name, None when there is no such format.
    #[must_use]
    pub fn new(format: &str) -> Option<Self> {
        let family = FAMILIES.iter().find(|family| family.name == format)?;
        let place = if family.begins_private { Place::Private } else { Place::Public };
        Some(Self { family, place, first: true, held: String::new() })
    }

    /// A reader of the answer to a prompt, which goes on where the markers of the prompt have led. Only a closing marker at its very end
    /// keeps a family from beginning in private that does so: one before may have closed an earlier answer.
    #[must_use]
    pub fn after(format: &str, prompt: &str) -> Option<Self> {
        let mut reading = Self::new(format)?;
        // Whatever white space the prompt ends with, a marker that ends with some is whole.
        let prompt = prompt.trim_end();
        reading.first = false;
        reading.feed(prompt);
        reading.feed("\n");
        reading.finish();
        reading.first = true;
        let closes = |marker: &Marker| matches!(marker.turn, Turn::Close) && prompt.ends_with(marker.text);
        let is_open = reading.family.begins_private && !reading.family.markers.iter().any(closes);
        if is_open && matches!(reading.place, Place::Public) {
            reading.place = Place::Private;
        }
        Some(reading)
    }

    /// The text begins outside of reasoning, which comes elsewhere; before anything is fed.
    pub(crate) const fn begin_shown(&mut self) {
        self.place = Place::Public;
    }

    /// Takes the next fragment apart.
    pub fn feed(&mut self, text: &str) -> Split {
        self.held.push_str(text);
        self.read(false)
    }

    /// The text has ended: what was held back is not going to be a marker.
    pub fn finish(&mut self) -> Split {
        self.read(true)
    }

    fn read(&mut self, last: bool) -> Split {
        let held = std::mem::take(&mut self.held);
        let mut split = Split::default();
        let Some(mut rest) = self.begin(&held, last) else {
            self.held = held;
            return split;
        };
        while !rest.is_empty() {
            if let Place::Marker { private } = self.place {
                let Some(end) = rest.find('>') else { break };
                self.place = if private { Place::Private } else { Place::Public };
                rest = &rest[end + 1..];
                continue;
            }
            let plain = rest.find(self.family.lead).unwrap_or(rest.len());
            self.say(&rest[..plain], &mut split);
            rest = &rest[plain..];
            match self.family.find(rest, last) {
                Found::Nothing => {
                    let next = rest.chars().next().map_or(0, char::len_utf8);
                    self.say(&rest[..next], &mut split);
                    rest = &rest[next..];
                }
                Found::Part => {
                    rest.clone_into(&mut self.held);
                    break;
                }
                Found::Whole(marker) => {
                    self.turn(marker, &mut split);
                    rest = &rest[marker.text.len()..];
                }
            }
        }
        split
    }

    /// The text after the label that some families keep of an opening marker whose special tokens were dropped on the way. None when it
    /// may be the beginning of one.
    fn begin<'a>(&mut self, text: &'a str, last: bool) -> Option<&'a str> {
        let (true, Some(label)) = (self.first, self.family.label) else {
            return Some(text);
        };
        if !last && text.len() < label.len() && label.starts_with(text) {
            return None;
        }
        self.first = false;
        let Some(after) = text.strip_prefix(label) else {
            return Some(text);
        };
        self.place = Place::Private;
        Some(after)
    }

    fn say(&self, text: &str, split: &mut Split) {
        match self.place {
            Place::Public => split.shown.push_str(text),
            Place::Private => split.hidden.push_str(text),
            Place::Heading | Place::Marker { .. } => {}
        }
    }

    fn turn(&mut self, marker: &Marker, split: &mut Split) {
        match marker.turn {
            Turn::Open => self.place = Place::Private,
            Turn::OpenUntilAngle => self.place = Place::Marker { private: true },
            Turn::Close => self.place = Place::Public,
            Turn::CloseShown => {
                self.place = Place::Public;
                self.say(marker.text, split);
            }
            Turn::CloseUntilAngle => self.place = Place::Marker { private: false },
            Turn::Heading => self.place = Place::Heading,
            Turn::Nothing => {}
        }
    }
}

enum Found {
    Nothing,
    /// More text decides.
    Part,
    Whole(&'static Marker),
}

impl Family {
    /// The longest marker that the text begins with.
    fn find(&self, text: &str, last: bool) -> Found {
        let longer = |marker: &&Marker| marker.text.len() > text.len() && marker.text.starts_with(text);
        if text.is_empty() {
            return Found::Nothing;
        }
        if !last && self.markers.iter().any(|marker| longer(&marker)) {
            return Found::Part;
        }
        let whole = self.markers.iter().filter(|marker| text.starts_with(marker.text));
        whole.max_by_key(|marker| marker.text.len()).map_or(Found::Nothing, Found::Whole)
    }
}
