//! What of the bytes that a program writes is one line, and how does it look without doing anything to who looks at it?

/// How much of a line is kept, in bytes.
const LIMIT: usize = 1024;

/// A line that has not ended yet.
#[derive(Default)]
pub(super) struct Line {
    text: Vec<u8>,
    /// After a carriage return: what comes next is written over the text.
    returned: bool,
}

impl Line {
    /// What it says so far; what does not fit is left out.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Takes more of it. `each` sees its text at every end (true) and at every carriage return (false), after which it may be rewritten.
    pub(super) fn take(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8], bool)) {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match piece {
                [text @ .., end @ (b'\n' | b'\r')] => (text, Some(*end)),
                text => (text, None),
            };
            self.write(text);
            if let Some(end) = end {
                each(&self.text, end == b'\n');
                self.returned = end == b'\r';
            }
            if end == Some(b'\n') {
                self.text.clear();
            }
        }
    }

    fn write(&mut self, text: &[u8]) {
        if self.returned && !text.is_empty() {
            self.text.clear();
            self.returned = false;
        }
        let fits = text.len().min(LIMIT - self.text.len());
        self.text.extend_from_slice(&text[..fits]);
    }
}

/// The line without escape sequences, and with U+FFFD where a character could still move a cursor or turn the direction of text.
pub(super) fn harmless(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' => skip_escape(&mut characters),
            '\u{9b}' => skip_control(&mut characters),
            '\t' => shown.push(' '),
            character if character.is_control() || turns(character) => shown.push(char::REPLACEMENT_CHARACTER),
            character => shown.push(character),
        }
    }
    shown.truncate(shown.floor_char_boundary(LIMIT));
    shown
}

/// Unicode's line separators, and its marks, overrides and isolates for the direction of text.
const fn turns(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Skips what belongs to an escape character (ECMA-48).
fn skip_escape(characters: &mut std::str::Chars<'_>) {
    match characters.next() {
        Some('[') => skip_control(characters),
        // A string for the terminal, such as its title; it ends with a bell or with ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(character) = characters.next() {
                match character {
                    '\x07' | '\u{9c}' => break,
                    '\x1b' => {
                        characters.next();
                        break;
                    }
                    _ => {}
                }
            }
        }
        Some(' '..='/') => skip_control(characters),
        _ => {}
    }
}

/// Skips parameters, and the one character that ends them.
fn skip_control(characters: &mut std::str::Chars<'_>) {
    characters.find(|character| !matches!(character, ' '..='?'));
}
