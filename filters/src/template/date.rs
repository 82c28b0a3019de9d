//! Which date does a template tell the model? The one it is given, written as `strftime` writes it, in UTC and in English.

use std::fmt::Write;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The last second that has a year of four digits.
const LAST: u64 = 253_402_300_799;

struct Moment {
    year: u64,
    /// From 1.
    month: u64,
    day: u64,
    /// From 0, Sunday.
    weekday: u64,
    /// From 1.
    day_of_year: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

/// Seconds since 1970 in this format. What is not known of it stays as it stands.
pub(super) fn format(now_s: u64, format: &str) -> String {
    let moment = moment(now_s.min(LAST));
    let mut text = String::with_capacity(format.len() + 16);
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let unpadded = rest.strip_prefix('-');
        let mut after = unpadded.unwrap_or(rest).chars();
        let written = after.next().and_then(|letter| field(&moment, letter));
        if let Some(written) = written {
            let padding: &[char] = if unpadded.is_some() { &['0', ' '] } else { &[] };
            let trimmed = written.trim_start_matches(padding);
            text.push_str(if trimmed.is_empty() { "0" } else { trimmed });
            rest = after.as_str();
        } else {
            text.push('%');
        }
    }
    text.push_str(rest);
    text
}

fn field(moment: &Moment, letter: char) -> Option<String> {
    let Moment { year, month, day, weekday, day_of_year, hour, minute, second } = *moment;
    let half = if hour < 12 { "AM" } else { "PM" };
    let hour_of_half = (hour + 11) % 12 + 1;
    let month_name = MONTHS[month as usize - 1];
    let day_name = DAYS[weekday as usize];
    let mut text = String::new();
    match letter {
        'Y' => write!(text, "{year}"),
        'y' => write!(text, "{:02}", year % 100),
        'm' => write!(text, "{month:02}"),
        'd' => write!(text, "{day:02}"),
        'e' => write!(text, "{day:2}"),
        'B' => write!(text, "{month_name}"),
        'b' | 'h' => write!(text, "{}", &month_name[..3]),
        'A' => write!(text, "{day_name}"),
        'a' => write!(text, "{}", &day_name[..3]),
        'j' => write!(text, "{day_of_year:03}"),
        'u' => write!(text, "{}", (weekday + 6) % 7 + 1),
        'w' => write!(text, "{weekday}"),
        'H' => write!(text, "{hour:02}"),
        'I' => write!(text, "{hour_of_half:02}"),
        'p' => write!(text, "{half}"),
        'M' => write!(text, "{minute:02}"),
        'S' => write!(text, "{second:02}"),
        'F' => write!(text, "{year}-{month:02}-{day:02}"),
        'T' => write!(text, "{hour:02}:{minute:02}:{second:02}"),
        'R' => write!(text, "{hour:02}:{minute:02}"),
        'D' => write!(text, "{month:02}/{day:02}/{:02}", year % 100),
        '%' => write!(text, "%"),
        _ => return None,
    }
    .ok()?;
    Some(text)
}

fn moment(now_s: u64) -> Moment {
    let (mut day, second) = (now_s / 86_400, now_s % 86_400);
    let weekday = (day + 4) % 7;
    let mut year = 1970;
    while day >= days_in_year(year) {
        day -= days_in_year(year);
        year += 1;
    }
    let day_of_year = day + 1;
    let mut month = 1;
    while day >= days_in_month(year, month) {
        day -= days_in_month(year, month);
        month += 1;
    }
    let (hour, minute) = (second / 3600, second / 60 % 60);
    Moment { year, month, day: day + 1, weekday, day_of_year, hour, minute, second: second % 60 }
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_in_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

const fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + is_leap(year) as u64,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
