//! What stands in a multipart form? Walks its parts; they are never copied.
//!
//! Engine and upstream read the form again, each with its own reader. What two of them could read differently is not well-formed here.

use std::ops::Range;

/// The boundary that a `multipart/form-data` content type states, once.
#[must_use]
pub fn boundary(content_type: &[u8]) -> Option<&[u8]> {
    let kind = content_type.split(|byte| *byte == b';').next()?;
    if !kind.trim_ascii().eq_ignore_ascii_case(b"multipart/form-data") {
        return None;
    }
    // Any other spelling is one that some reader takes for the boundary.
    let parameters = content_type.split(|byte| *byte == b';').skip(1).map(<[u8]>::trim_ascii);
    let mut stated =
        parameters.filter(|parameter| parameter.get(..8).is_some_and(|name| name.eq_ignore_ascii_case(b"boundary")));
    let value = stated.next().filter(|_| stated.next().is_none())?[8..].strip_prefix(b"=")?;
    let value = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value);
    is_boundary(value).then_some(value)
}

/// The boundary that a form itself begins with.
#[must_use]
pub fn own_boundary(body: &[u8]) -> Option<&[u8]> {
    let line = &body[..memchr::memchr(b'\r', body)?];
    line.strip_prefix(b"--").filter(|boundary| is_boundary(boundary))
}

/// One to seventy of the characters that RFC 2046 allows, the last of them no space.
fn is_boundary(value: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(byte);
    value.len() <= 70 && value.iter().all(is_allowed) && value.last().is_some_and(|last| *last != b' ')
}

/// Why a form cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadForm {
    /// The parts are not well-formed.
    Malformed,
    /// The field stands twice.
    Repeated,
}

/// One part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The field it is of; none when its head names no field.
    pub name: Option<&'a [u8]>,
    /// The name of the file it holds, where it is a file.
    pub filename: Option<&'a [u8]>,
    /// Where its value stands in the form.
    pub value: Range<usize>,
}

/// The parts of a form, one by one.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    body: &'a [u8],
    closing: Vec<u8>,
    /// Behind the delimiter that was read last; none when the form is over.
    at: Option<usize>,
}

/// The parts of `body`, which `boundary` divides.
#[must_use]
pub fn parts<'a>(body: &'a [u8], boundary: &[u8]) -> Parts<'a> {
    Parts { body, closing: [b"\r\n--", boundary].concat(), at: Some(0) }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<Part<'a>, BadForm>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at.take()?;
        let at = if at > 0 {
            at
        } else if self.body.starts_with(&self.closing[2..]) {
            self.closing.len() - 2
        } else {
            return Some(Err(BadForm::Malformed));
        };
        if let Some(rest) = self.body[at..].strip_prefix(b"--") {
            // To some readers this is the end only where its line ends too.
            return if rest.trim_ascii().is_empty() { None } else { Some(Err(BadForm::Malformed)) };
        }
        Some(self.part(at).ok_or(BadForm::Malformed))
    }
}

impl<'a> Parts<'a> {
    fn part(&mut self, at: usize) -> Option<Part<'a>> {
        let rest = self.body[at..].strip_prefix(b"\r\n")?;
        if rest.starts_with(b"\r\n") {
            // A part without a head: what follows would be read as one.
            return None;
        }
        let head_len = memchr::memmem::find(rest, b"\r\n\r\n")?;
        let start = at + 2 + head_len + 4;
        let len = memchr::memmem::find(&self.body[start..], &self.closing)?;
        if self.holds_loose_delimiter(start..start + len) {
            return None;
        }
        self.at = Some(start + len + self.closing.len());
        let (name, filename) = read_head(&rest[..head_len])?;
        Some(Part { name, filename, value: start..start + len })
    }
}

impl Parts<'_> {
    /// Whether a value holds the delimiter behind half a line end, where a lenient reader would see another part.
    fn holds_loose_delimiter(&self, value: Range<usize>) -> bool {
        let (value, delimiter) = (&self.body[value], &self.closing[2..]);
        memchr::memmem::find_iter(value, delimiter).any(|at| at == 0 || matches!(value[at - 1], b'\r' | b'\n'))
    }
}

/// Where the value of the text field `name` stands in `body`; none when the form has no such field.
///
/// # Errors
/// The form is not well-formed or names the field twice.
pub fn field(body: &[u8], boundary: &[u8], name: &[u8]) -> Result<Option<Range<usize>>, BadForm> {
    let mut found = None;
    for part in parts(body, boundary) {
        let part = part?;
        if part.name == Some(name) && found.replace(part.value).is_some() {
            return Err(BadForm::Repeated);
        }
    }
    Ok(found)
}

type Parameter<'a> = Option<&'a [u8]>;

/// The name and the file name of a part; none when its head is not well-formed.
fn read_head(head: &[u8]) -> Option<(Parameter<'_>, Parameter<'_>)> {
    let mut found = None;
    let mut rest = Some(head);
    while let Some(text) = rest {
        let end = memchr::memmem::find(text, b"\r\n");
        let line = &text[..end.unwrap_or(text.len())];
        rest = end.map(|end| &text[end + 2..]);
        let (name, value) = line.split_at(memchr::memchr(b':', line)?);
        let value = value[1..].trim_ascii();
        // This leaves no line that continues another one, and no line break but the two bytes.
        if !is_token(name) || value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return None;
        }
        if name.eq_ignore_ascii_case(b"content-disposition") && found.replace(disposition(value)?).is_some() {
            return None;
        }
        if name.eq_ignore_ascii_case(b"content-transfer-encoding") && !is_plain(value) {
            return None;
        }
    }
    Some(found.unwrap_or_default())
}

/// Letters, digits, hyphens and underscores: what names of fields and parameters are of.
fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
}

/// Encodings of a part that change nothing.
fn is_plain(encoding: &[u8]) -> bool {
    [&b"7bit"[..], b"8bit", b"binary"].iter().any(|plain| encoding.eq_ignore_ascii_case(plain))
}

/// What `form-data` says: the name and the file name, each once.
fn disposition(value: &[u8]) -> Option<(Parameter<'_>, Parameter<'_>)> {
    let (kind, mut rest) = value.split_at(memchr::memchr(b';', value).unwrap_or(value.len()));
    if !kind.trim_ascii().eq_ignore_ascii_case(b"form-data") {
        return None;
    }
    let (mut name, mut filename, mut extended) = (None, None, None);
    while let Some(text) = rest.strip_prefix(b";") {
        let (key, value, after) = parameter(text.trim_ascii_start())?;
        let is_again = match key {
            key if key.eq_ignore_ascii_case(b"name") => name.replace(value).is_some(),
            key if key.eq_ignore_ascii_case(b"filename") => filename.replace(value).is_some(),
            // Some clients write a file's name a second time, in its own encoding.
            key if key.eq_ignore_ascii_case(b"filename*") => extended.replace(value).is_some(),
            key => !is_token(key),
        };
        if is_again {
            return None;
        }
        rest = after.trim_ascii_start();
    }
    let is_plain_too = extended.is_none() || filename.is_some();
    (rest.is_empty() && is_plain_too).then_some((name, filename))
}

/// One `key=value` and what stands behind it; a semicolon inside quotes is part of the value. Readers do not agree on a backslash before a
/// quote, so none may stand there.
fn parameter(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (key, value) = text.split_at(memchr::memchr(b'=', text)?);
    let value = &value[1..];
    if let Some(quoted) = value.strip_prefix(b"\"") {
        let (value, rest) = quoted.split_at(memchr::memchr(b'"', quoted)?);
        return (!value.ends_with(b"\\")).then_some((key, value, &rest[1..]));
    }
    let (value, rest) = value.split_at(memchr::memchr(b';', value).unwrap_or(value.len()));
    let value = value.trim_ascii_end();
    let is_one_word = !value.iter().any(|byte| b"\"\\ \t".contains(byte));
    is_one_word.then_some((key, value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORM: &[u8] =
        b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"model\"\r\n\r\nabc\r\n--b\r\n\
        content-disposition: form-data; name=\"model\"\r\n\r\norg/w\r\n--b--\r\n";

    #[test]
    fn the_field_is_found_by_name_not_by_filename() {
        let found = field(FORM, b"b", b"model").expect("well-formed").expect("there");
        assert_eq!(&FORM[found], b"org/w");
        assert_eq!(field(FORM, b"b", b"language"), Ok(None));
    }

    #[test]
    fn a_file_name_names_no_field() {
        let head = br#"Content-Disposition: form-data; filename="a;name=model;b\.wav"; name="file""#;
        let (name, filename) = read_head(head).expect("well-formed");
        assert_eq!(name, Some(&b"file"[..]));
        assert_eq!(filename, Some(&br#"a;name=model;b\.wav"#[..]));
        let plain = b"Content-Type: audio/wav\r\nContent-Disposition: form-data; name=file; filename=a.wav";
        assert_eq!(read_head(plain), Some((Some(&b"file"[..]), Some(&b"a.wav"[..]))));
        assert_eq!(read_head(b"Content-Type: text/plain"), Some((None, None)));
    }

    #[test]
    fn what_readers_could_read_differently_is_refused() {
        for head in [
            "Content-Disposition: form-data; name=\"prompt\"\r\nContent-Disposition: form-data; name=\"model\"",
            "Content-Disposition: form-data; name=\"prompt\"\r\ncontent-disposition: form-data",
            "Content-Disposition: form-data; name=\"prompt\"; name=\"model\"",
            "Content-Disposition: form-data; name=\"prompt\"; NAME=model",
            "Content-Disposition: form-data; name=\"file\"; filename=\"a.wav\"; filename=\"b.wav\"",
            "Content-Disposition: form-data; name=\"prompt\"; name*=utf-8''model",
            "Content-Disposition: form-data; name=\"prompt\"; name*0=mod; name*1=el",
            "Content-Disposition: form-data; name=\"prompt\"; filename*=utf-8''a.wav",
            "Content-Disposition: form-data; name=\"prompt\"; x*=utf-8''a",
            "Content-Disposition: form-data; name=\"prompt\"; name",
            "Content-Disposition: form-data; name=\"prompt\"; name =\"model\"",
            "Content-Disposition: form-data; name= \"prompt\"",
            "Content-Disposition: form-data; name=\"prompt\"x",
            "Content-Disposition: form-data; name=\"prompt",
            "Content-Disposition: form-data; name=prompt\"; x=\"; name=model",
            "Content-Disposition: form-data; x=\"\\\"; name=\"model\"",
            "Content-Disposition: form-data; filename=\"a\\\\\"; name=\"model\"",
            "Content-Disposition: form-data; name=pro mpt",
            "Content-Disposition: attachment; name=\"prompt\"",
            "Content-Disposition: form-data, name=\"prompt\"",
            "Content-Disposition : form-data; name=\"prompt\"",
            "Content-Disposition: form-data;\r\n name=\"prompt\"",
            "X: y\r\n Content-Disposition: form-data; name=\"prompt\"",
            "X: y\nContent-Disposition: form-data; name=\"prompt\"",
            "X: y\rContent-Disposition: form-data; name=\"prompt\"",
            "Content-Disposition: form-data; name=\"pro\0mpt\"",
            "Content-Disposition: form-data; name=\"prompt\"\r\nContent-Transfer-Encoding: base64",
            "Content-Disposition: form-data; name=\"prompt\"\r\nno header",
        ] {
            let form = ["--b\r\n", head, "\r\n\r\nvalue\r\n--b--\r\n"].concat();
            assert_eq!(field(form.as_bytes(), b"b", b"model"), Err(BadForm::Malformed), "{head}");
        }
        let form = [FORM, b"--b\r\n"].concat();
        assert_eq!(field(&form, b"b", b"model"), Err(BadForm::Malformed), "behind the end");
        let plain = b"--b\r\nContent-Disposition: form-data; name=\"model\"\r\nContent-Transfer-Encoding: 8bit\r\n\r\nx\r\n--b--";
        assert!(field(plain, b"b", b"model").is_ok_and(|found| found.is_some()));
    }

    #[test]
    fn broken_and_ambiguous_forms_are_refused() {
        assert_eq!(field(b"x", b"b", b"model"), Err(BadForm::Malformed));
        assert_eq!(field(&FORM[..40], b"b", b"model"), Err(BadForm::Malformed));
        let part = b"--b\r\nContent-Disposition: form-data; name=model\r\n\r\na\r\n";
        let twice = [&part[..], part, b"--b--"].concat();
        assert_eq!(field(&twice, b"b", b"model"), Err(BadForm::Repeated));
    }

    #[test]
    fn the_boundary_comes_from_the_content_type_or_the_form() {
        assert_eq!(boundary(b"multipart/form-data; charset=x; Boundary=\"a b\""), Some(&b"a b"[..]));
        assert_eq!(boundary(b"multipart/form-data"), None);
        assert_eq!(boundary(b"application/json; boundary=x"), None);
        assert_eq!(own_boundary(FORM), Some(&b"b"[..]));
        assert_eq!(own_boundary(b"{}\r\n"), None);
        for bad in [
            "a\"b",
            "a\\b",
            "\"a\\b\"",
            "\"a; x",
            "\"\"",
            "",
            "\"a \"",
            "a\tb",
            "a; boundary=b",
            "a\u{e9}",
            &"a".repeat(71),
        ] {
            assert_eq!(boundary(["multipart/form-data; boundary=", bad].concat().as_bytes()), None, "{bad}");
        }
        assert_eq!(own_boundary(b"--a\"b\r\n"), None);
        let longest = "'()+_,-./:=?".repeat(6)[..70].to_owned();
        let content_type = format!("multipart/form-data; boundary={longest}");
        assert_eq!(boundary(content_type.as_bytes()), Some(longest.as_bytes()));
    }

    #[test]
    fn what_a_lenient_reader_would_take_for_a_part_is_malformed() {
        let hidden = b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRI\n--b\n\
            Content-Disposition: form-data; name=\"model\"\n\nevil\n\r\n--b--\r\n";
        assert_eq!(field(hidden, b"b", b"model"), Err(BadForm::Malformed));
        let plain = b"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nRI --b\r\n--b--\r\n";
        assert_eq!(field(plain, b"b", b"model"), Ok(None));
        for spelling in ["boundary =evil; boundary=b", "boundary*=utf-8''evil; boundary=b", "boundary*0=b"] {
            assert_eq!(boundary(format!("multipart/form-data; {spelling}").as_bytes()), None, "{spelling}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = field(&body, b"b", b"model");
            let _ = boundary(&body);
            let _ = read_head(&body);
            let _ = own_boundary(&body);
        }

        #[test]
        fn parameters_of_any_kind_end(text in "Content-Disposition: [;=\"a\\\\ n]{0,24}") {
            let _ = read_head(text.as_bytes());
        }
    }
}
