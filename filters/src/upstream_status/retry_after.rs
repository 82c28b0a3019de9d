//! How long does a `Retry-After` ask to wait?

/// Seconds to wait, rounded up and between 1 and 60; none when the value is neither a number from zero up nor a date
/// (contract section 5). `now_unix_s` is the time in seconds since 1970.
#[must_use]
pub fn retry_after_s(value: &[u8], now_unix_s: u64) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let seconds = match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => clamped(number),
        Ok(_) => return None,
        Err(_) => unix_s(text)?.saturating_sub(now_unix_s).clamp(1, 60),
    };
    Some(seconds)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value lies between 1 and 60")]
fn clamped(number: f64) -> u64 {
    number.ceil().clamp(1.0, 60.0) as u64
}

/// The seconds since 1970 of an IMF-fixdate such as `Wed, 21 Oct 2015 07:28:00 GMT` (RFC 9110 section 5.6.7); years before 1970 are 0.
fn unix_s(text: &str) -> Option<u64> {
    let (_weekday, rest) = text.split_once(", ")?;
    let mut parts = rest.split(' ');
    let (day, month, year, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if parts.next() != Some("GMT") || parts.next().is_some() {
        return None;
    }
    let month = MONTHS.iter().position(|name| *name == month)?;
    let days = days_since_1970(number(year, 4)?, month, number(day, 2)?)?;
    let mut clock = time.split(':');
    let (hour, minute, second) = (number(clock.next()?, 2)?, number(clock.next()?, 2)?, number(clock.next()?, 2)?);
    let valid = clock.next().is_none() && hour < 24 && minute < 60 && second <= 60;
    valid.then_some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

fn number(digits: &str, len: usize) -> Option<u64> {
    (digits.len() == len && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

fn days_since_1970(year: u64, month: usize, day: u64) -> Option<u64> {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    if !(1..=31).contains(&day) {
        return None;
    }
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let leap_day = u64::from(is_leap && month >= 2);
    let Some(years) = year.checked_sub(1970) else { return Some(0) };
    Some(years * 365 + leaps(year - 1) - leaps(1969) + BEFORE[month] + leap_day + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_the_second_it_names() {
        for (text, wanted) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Tue, 29 Feb 2000 12:00:00 GMT", Some(951_825_600)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Mon, 01 Jan 1900 00:00:00 GMT", Some(0)),
            ("Sun, 00 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 24:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 06 Nov 94 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("06 Nov 1994", None),
        ] {
            assert_eq!(unix_s(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_date_is_counted_from_now() {
        let value = b"Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(retry_after_s(value, 784_111_770), Some(7));
        assert_eq!(retry_after_s(value, 784_111_777), Some(1));
        assert_eq!(retry_after_s(value, 784_000_000), Some(60));
    }
}
