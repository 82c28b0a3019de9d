//! Where does a multipart form name its model? Finds one text field; the parts themselves are never copied.

use std::ops::Range;

/// The boundary that a `multipart/form-data` content type states.
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
    (1..=70).contains(&value.len()).then_some(value)
}

/// Why a form cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadForm {
    /// The parts are not well-formed.
    Malformed,
    /// The field stands twice.
    Repeated,
}

/// Where the value of the text field `name` stands in `body`; none when the form has no such field.
///
/// # Errors
/// The form is not well-formed or names the field twice.
pub fn field(body: &[u8], boundary: &[u8], name: &[u8]) -> Result<Option<Range<usize>>, BadForm> {
    let delimiter = [b"--", boundary].concat();
    let mut found = None;
    let mut at = if body.starts_with(&delimiter) { delimiter.len() } else { return Err(BadForm::Malformed) };
    loop {
        let rest = &body[at..];
        if rest.starts_with(b"--") {
            return Ok(found);
        }
        let rest = rest.strip_prefix(b"\r\n").ok_or(BadForm::Malformed)?;
        if rest.starts_with(b"\r\n") {
            // A part without a head: what follows would be read as one.
            return Err(BadForm::Malformed);
        }
        let head_len = memchr::memmem::find(rest, b"\r\n\r\n").ok_or(BadForm::Malformed)? + 4;
        let start = at + 2 + head_len;
        let closing = [b"\r\n", &delimiter[..]].concat();
        let len = memchr::memmem::find(&body[start..], &closing).ok_or(BadForm::Malformed)?;
        if is_named(&rest[..head_len - 4], name) {
            if found.is_some() {
                return Err(BadForm::Repeated);
            }
            found = Some(start..start + len);
        }
        at = start + len + closing.len();
    }
}

fn is_named(head: &[u8], name: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n').any(|line| {
        let Some((field, value)) = line.split_at_checked(20) else { return false };
        field.eq_ignore_ascii_case(b"content-disposition:")
            && value.split(|byte| *byte == b';').any(|parameter| {
                let Some((key, value)) = parameter.trim_ascii().split_at_checked(5) else { return false };
                key.eq_ignore_ascii_case(b"name=")
                    && value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value) == name
            })
    })
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
    fn broken_and_ambiguous_forms_are_refused() {
        assert_eq!(field(b"x", b"b", b"model"), Err(BadForm::Malformed));
        assert_eq!(field(&FORM[..40], b"b", b"model"), Err(BadForm::Malformed));
        let part = b"--b\r\nContent-Disposition: form-data; name=model\r\n\r\na\r\n";
        let twice = [&part[..], part, b"--b--"].concat();
        assert_eq!(field(&twice, b"b", b"model"), Err(BadForm::Repeated));
    }

    #[test]
    fn the_boundary_comes_from_the_content_type() {
        assert_eq!(boundary(b"multipart/form-data; charset=x; Boundary=\"a b\""), Some(&b"a b"[..]));
        assert_eq!(boundary(b"multipart/form-data"), None);
        assert_eq!(boundary(b"application/json; boundary=x"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = field(&body, b"b", b"model");
            let _ = boundary(&body);
        }
    }
}
