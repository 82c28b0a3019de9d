//! What do the header lines of a request say together?

use core::ops::Range;

use super::{Method, Remote, RequestFraming};
use crate::wire::gate::connection::{self, Choice};
use crate::wire::gate::host::is_host;
use crate::wire::headers::{Known, decimal, is_token_byte};
use crate::wire::lines::{Fate, Line};
use crate::wire::reject::RejectKind;

/// How many extension headers the Connection lines of one head may nominate: taking each off means another look at every line.
const MAX_NOMINATED: u8 = 16;

/// What has been read of a head so far. Ranges are ranges of the head.
#[derive(Default)]
pub(super) struct Gathered<'b> {
    pub(super) content_encoded: bool,
    pub(super) content_type: Option<Range<usize>>,
    pub(super) remote: Remote,
    chunked: bool,
    close: bool,
    expects: bool,
    host: Option<&'b [u8]>,
    keep_alive: bool,
    length: Option<u64>,
    nominated: u8,
    upgrade: Upgrade,
    upgrade_asked: bool,
}

/// The Upgrade lines of a head.
#[derive(Default)]
enum Upgrade {
    #[default]
    Absent,
    /// Several lines, several protocols, or HTTP itself: ignored, as RFC 9110 section 7.8 allows.
    Ignored,
    /// One protocol that is not HTTP, and its line.
    Line(Range<usize>),
}

impl<'b> Gathered<'b> {
    /// Takes one line in; says whether the engine sees it.
    pub(super) fn judge(&mut self, line: &Line<'b>) -> Result<Fate, RejectKind> {
        match line.known {
            Known::Other => Ok(Fate::Keep),
            Known::HopByHop | Known::Disclosure => Ok(Fate::Drop),
            Known::Connection => self.connection(line.value),
            Known::ContentEncoding => {
                self.content_encoded |= !(line.value.is_empty() || line.value.eq_ignore_ascii_case(b"identity"));
                Ok(Fate::Keep)
            }
            Known::ContentLength => self.content_length(line.value),
            Known::ContentType => match self.content_type.replace(line.value_span()) {
                None => Ok(Fate::Keep),
                Some(_) => Err(RejectKind::RepeatedContentType),
            },
            Known::Expect => self.expect(line.value),
            Known::Host => match self.host.replace(line.value) {
                None if is_host(line.value) => Ok(Fate::Keep),
                _ => Err(RejectKind::Host),
            },
            Known::Remote => self.remote(line.value),
            Known::TransferEncoding => self.transfer_encoding(line.value),
            Known::Underscored => Err(RejectKind::Underscore),
            Known::UnderscoredRemote => Err(RejectKind::Remote),
            Known::Upgrade => Ok(self.upgrade_line(line)),
        }
    }

    /// Judges the head as a whole. `authority` is that of an absolute target.
    pub(super) fn check(&self, http10: bool, authority: Option<&[u8]>) -> Result<(), RejectKind> {
        if self.chunked && self.length.is_some() {
            return Err(RejectKind::LengthAndCoding);
        }
        if self.chunked && http10 {
            return Err(RejectKind::TransferEncoding);
        }
        match (self.host, authority) {
            (None, _) if !http10 => Err(RejectKind::Host),
            (host, Some(authority)) if !host.is_some_and(|host| host.eq_ignore_ascii_case(authority)) => {
                Err(RejectKind::AbsoluteTarget)
            }
            _ => Ok(()),
        }
    }

    /// Whether a Connection line nominates headers that are still in the engine's head.
    pub(super) const fn nominates(&self) -> bool {
        self.nominated > 0
    }

    pub(super) fn framing(&self) -> RequestFraming {
        match self.length {
            _ if self.chunked => RequestFraming::Chunked,
            Some(length) => RequestFraming::Length(length),
            None => RequestFraming::None,
        }
    }

    pub(super) const fn keeps_alive(&self, http10: bool) -> bool {
        !self.close && (self.keep_alive || !http10)
    }

    pub(super) const fn expects_continue(&self, http10: bool) -> bool {
        self.expects && !http10 && (self.chunked || matches!(self.length, Some(1..)))
    }

    /// The Upgrade line that the engine gets, if this head is a proper wish to leave HTTP.
    pub(super) fn upgrade(&self, method: Method) -> Option<Range<usize>> {
        let bodiless = !self.chunked && matches!(self.length, None | Some(0));
        match &self.upgrade {
            Upgrade::Line(span) if self.upgrade_asked && bodiless && method == Method::Get => Some(span.clone()),
            _ => None,
        }
    }

    fn connection(&mut self, value: &[u8]) -> Result<Fate, RejectKind> {
        for choice in connection::choices(value) {
            match choice {
                Choice::Close => self.close = true,
                Choice::Extension if self.nominated < MAX_NOMINATED => self.nominated += 1,
                Choice::HopByHop => {}
                Choice::KeepAlive => self.keep_alive = true,
                Choice::Extension | Choice::Malformed | Choice::Protected => return Err(RejectKind::Connection),
                Choice::Remote => return Err(RejectKind::Remote),
                Choice::Upgrade => self.upgrade_asked = true,
            }
        }
        Ok(Fate::Drop)
    }

    fn content_length(&mut self, value: &[u8]) -> Result<Fate, RejectKind> {
        let length = decimal(value).ok_or(RejectKind::ContentLength)?;
        match self.length.replace(length) {
            None => Ok(Fate::Drop),
            Some(_) => Err(RejectKind::ContentLength),
        }
    }

    fn expect(&mut self, value: &[u8]) -> Result<Fate, RejectKind> {
        if self.expects || !value.eq_ignore_ascii_case(b"100-continue") {
            return Err(RejectKind::Expectation);
        }
        self.expects = true;
        Ok(Fate::Drop)
    }

    /// Once, with the one value; the line passes to the engine.
    fn remote(&mut self, value: &[u8]) -> Result<Fate, RejectKind> {
        if self.remote == Remote::Forbid || value != b"forbid" {
            return Err(RejectKind::Remote);
        }
        self.remote = Remote::Forbid;
        Ok(Fate::Keep)
    }

    fn transfer_encoding(&mut self, value: &[u8]) -> Result<Fate, RejectKind> {
        if self.chunked {
            return Err(RejectKind::TransferEncoding);
        }
        if !value.eq_ignore_ascii_case(b"chunked") {
            return Err(RejectKind::TransferCoding);
        }
        self.chunked = true;
        Ok(Fate::Drop)
    }

    /// The line is dropped here and appended again if the head as a whole is an upgrade.
    fn upgrade_line(&mut self, line: &Line<'b>) -> Fate {
        self.upgrade = match self.upgrade {
            Upgrade::Absent if is_foreign_protocol(line.value) => Upgrade::Line(line.span.clone()),
            _ => Upgrade::Ignored,
        };
        Fate::Drop
    }
}

/// Whether an Upgrade value is one protocol that is neither a version of HTTP nor TLS: those two would put another HTTP
/// conversation on the engine's connection, behind this gate's back.
fn is_foreign_protocol(value: &[u8]) -> bool {
    let name = value.split(|byte| *byte == b'/').next().unwrap_or_default();
    let is_http = [b"h2c".as_slice(), b"h2", b"http", b"tls"].iter().any(|http| name.eq_ignore_ascii_case(http));
    !name.is_empty() && !is_http && value.iter().all(|byte| is_token_byte(*byte) || *byte == b'/')
}
