//! What does a person see of a snapshot?

use spillway_filters::feed::{Condition, Snapshot, State, Why};
use std::fmt::Write as _;

/// Lines of the engine's log that are shown.
const LOG_LINES: usize = 10;

/// Everything, over several lines.
pub(super) fn status(snapshot: &Snapshot, log: &str) -> String {
    let mut text = format!("{}: {}\n", plain(&snapshot.preset), condition(&snapshot.engine));
    for (what, count) in [("running", snapshot.running), ("waiting", snapshot.waiting)] {
        if let Some(count) = count {
            line(&mut text, what, &count.to_string());
        }
    }
    if snapshot.restarts > 0 {
        line(&mut text, "restarts", &snapshot.restarts.to_string());
    }
    if !snapshot.models.is_empty() {
        text.push_str("models\n");
        for (name, model) in &snapshot.models {
            let _ = writeln!(text, "  {}: {}", plain(name), condition(model));
        }
    }
    identity(&mut text, snapshot);
    let lines: Vec<&str> = log.lines().collect();
    if !lines.is_empty() {
        text.push_str("log\n");
        for found in &lines[lines.len().saturating_sub(LOG_LINES)..] {
            let _ = writeln!(text, "  {}", plain(found));
        }
    }
    text
}

fn identity(text: &mut String, snapshot: &Snapshot) {
    let Some(identity) = &snapshot.identity else { return };
    let digest = identity.digest.as_deref().map_or_else(|| "not all of it is known".into(), plain);
    let _ = writeln!(text, "identity: {digest}");
    for (name, part) in &identity.parts {
        line(text, name, &part.as_deref().map_or_else(|| "not known".into(), plain));
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name}: {value}");
}

/// One state, in one line.
pub(super) fn condition(condition: &Condition) -> String {
    let mut text = condition.state.token().to_owned();
    if let Some(why) = condition.why {
        let _ = write!(text, " ({})", reason(why));
    }
    match (condition.state, condition.ready_in_ms) {
        (State::Ready | State::Saturated, _) | (_, None) => {}
        // Nothing is on its way there.
        (State::Absent | State::Asleep, Some(takes)) => {
            let _ = write!(text, ", a load takes about {} s", takes.div_ceil(1_000));
        }
        (_, Some(0)) => text.push_str(", ready any moment"),
        (_, Some(left)) => {
            let _ = write!(text, ", ready in about {} s", left.div_ceil(1_000));
        }
    }
    if let Some(progress) = &condition.progress {
        let _ = write!(text, ": {}", plain(progress));
    }
    text
}

const fn reason(why: Why) -> &'static str {
    match why {
        Why::Crashed => "its process ended by itself and is started again",
        Why::LoadFailed => "a load failed, and none is tried for a while",
        Why::Health => "it says so itself",
        Why::Silent => "it does not answer",
        Why::Idle => "it had nothing to do",
        Why::Asked => "somebody asked",
        Why::Other => "for a reason that a later version knows",
    }
}

/// What others wrote, without what would move the cursor.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_one_line() {
        let of = Condition::of;
        for (shown, wanted) in [
            (of(State::Ready), "ready"),
            (Condition { ready_in_ms: Some(5), ..of(State::Ready) }, "ready"),
            (Condition { ready_in_ms: Some(0), ..of(State::Loading) }, "loading, ready any moment"),
            (Condition { ready_in_ms: Some(1), ..of(State::Starting) }, "starting, ready in about 1 s"),
            (
                Condition { why: Some(Why::Idle), ready_in_ms: Some(2_000), ..of(State::Asleep) },
                "asleep (it had nothing to do), a load takes about 2 s",
            ),
            (Condition { progress: Some("5/9\r".into()), ..of(State::Loading) }, "loading: 5/9\u{fffd}"),
        ] {
            assert_eq!(condition(&shown), wanted);
        }
    }

    #[test]
    fn the_last_lines_of_the_log_are_shown_harmless() {
        let snapshot: Snapshot =
            serde_json::from_str(r#"{"seq":1,"preset":"sie","engine":{"state":"ready"}}"#).expect("it reads");
        assert_eq!(status(&snapshot, ""), "sie: ready\n");
        let log: String = (1..=12).map(|number| format!("line {number}\u{7}\n")).collect();
        let text = status(&snapshot, &log);
        assert!(
            text.starts_with("sie: ready\nlog\n  line 3\u{fffd}\n") && text.ends_with("\n  line 12\u{fffd}\n"),
            "{text:?}"
        );
    }
}
