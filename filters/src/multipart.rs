//! What stands in a multipart form? Walks its parts; they are never copied.

use std::borrow::Cow;
use std::ops::Range;

/// The boundary that a `multipart/form-data` content type states, once.
#[must_use]
pub fn boundary(content_type: &[u8]) -> Option<&[u8]> {
    let kind = content_type.split(|byte| *byte == b';').next()?;
    if !kind.trim_ascii().eq_ignore_ascii_case(b"multipart/form-data") {
        return None;
    }
    let parameters = content_type.split(|byte| *byte == b';').skip(1);
    let value = parameters
        .filter_map(|parameter| parameter.trim_ascii().split_at_checked(9))
        .find_map(|(name, value)| name.eq_ignore_ascii_case(b"boundary=").then_some(value))?;
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
    pub name: Option<Cow<'a, [u8]>>,
    /// The name of the file it holds, where it is a file.
    pub filename: Option<Cow<'a, [u8]>>,
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
        if self.body[at..].starts_with(b"--") {
            return None;
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
        self.at = Some(start + len + self.closing.len());
        let (name, filename) = disposition(&rest[..head_len]);
        Some(Part { name, filename, value: start..start + len })
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
        if part.name.as_deref() == Some(name) && found.replace(part.value).is_some() {
            return Err(BadForm::Repeated);
        }
    }
    Ok(found)
}

type Parameter<'a> = Option<Cow<'a, [u8]>>;

/// The name and the file name of a part, by its `Content-Disposition`.
fn disposition(head: &[u8]) -> (Parameter<'_>, Parameter<'_>) {
    let (mut name, mut filename) = (None, None);
    for line in head.split(|byte| *byte == b'\n') {
        let Some((field, mut rest)) = line.split_at_checked(20) else { continue };
        if !field.eq_ignore_ascii_case(b"content-disposition:") {
            continue;
        }
        while let Some(start) = memchr::memchr(b';', rest) {
            let (key, value, after) = parameter(&rest[start + 1..]);
            let place = match key {
                key if key.eq_ignore_ascii_case(b"name") => &mut name,
                key if key.eq_ignore_ascii_case(b"filename") => &mut filename,
                _ => &mut None,
            };
            place.get_or_insert(value);
            rest = after;
        }
    }
    (name, filename)
}

/// One `key=value` and what stands behind it; a semicolon inside quotes is part of the value.
fn parameter(text: &[u8]) -> (&[u8], Cow<'_, [u8]>, &[u8]) {
    let Some(at) = memchr::memchr2(b'=', b';', text).filter(|at| text[*at] == b'=') else {
        let end = memchr::memchr(b';', text).unwrap_or(text.len());
        return (text[..end].trim_ascii(), Cow::Borrowed(b""), &text[end..]);
    };
    let (key, value) = (text[..at].trim_ascii(), text[at + 1..].trim_ascii_start());
    let Some(quoted) = value.strip_prefix(b"\"") else {
        let end = memchr::memchr(b';', value).unwrap_or(value.len());
        return (key, Cow::Borrowed(value[..end].trim_ascii()), &value[end..]);
    };
    let mut end = 0;
    let mut escaped = false;
    while let Some(byte) = quoted.get(end).filter(|byte| **byte != b'"') {
        // A backslash escapes a quote or itself; browsers write file names of Windows with plain ones.
        let escape = *byte == b'\\' && matches!(quoted.get(end + 1), Some(b'"' | b'\\'));
        escaped |= escape;
        end += 1 + usize::from(escape);
    }
    let value = &quoted[..end.min(quoted.len())];
    let value = if escaped { Cow::Owned(unescape(value)) } else { Cow::Borrowed(value) };
    (key, value, &quoted[end.min(quoted.len())..])
}

fn unescape(value: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(value.len());
    let mut bytes = value.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let escaped = if byte == b'\\' { bytes.next_if(|next| matches!(next, b'"' | b'\\')) } else { None };
        plain.push(escaped.unwrap_or(byte));
    }
    plain
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
        let head = br#"Content-Disposition: form-data; filename="a;name=model;\"b\\.wav"; name="file""#;
        let (name, filename) = disposition(head);
        assert_eq!(name.as_deref(), Some(&b"file"[..]));
        assert_eq!(filename.as_deref(), Some(&br#"a;name=model;"b\.wav"#[..]));
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
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = field(&body, b"b", b"model");
            let _ = boundary(&body);
            let _ = disposition(&body);
            let _ = own_boundary(&body);
        }

        #[test]
        fn parameters_of_any_kind_end(text in "Content-Disposition: [;=\"a\\\\ n]{0,24}") {
            let _ = disposition(text.as_bytes());
        }
    }
}
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
