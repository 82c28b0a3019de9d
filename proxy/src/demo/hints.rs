//! What can a person try next? Commands that work as they stand.

use super::chat;
use super::engine::NEXT_LOAD;
use super::screen::{Ink, Screen};
use super::sidecar::MODEL;
use super::story::Places;

/// Prints every command under a line that says what it shows.
pub(super) fn print(screen: &mut Screen, places: &Places) {
    let Places { front, admin, engine, upstream } = places;
    let chats = format!("http://{front}{}", chat::PATH);
    let body =
        |more: &str| format!(r#"'{{"model":"{MODEL}",{more}"messages":[{{"role":"user","content":"hello"}}]}}'"#);
    let (whole, stream) = (body(""), body(r#""stream":true,"#));
    let cold = NEXT_LOAD.as_secs();
    screen.line(Ink::Bold, "\nNow you, from another terminal. What happens shows up below; Ctrl-C ends the demo.");
    let hints = [
        ("chat: X-SIE-Served-By says who answered".to_owned(), vec![format!("curl -i {chats} \\\n      -d {whole}")]),
        ("stream".to_owned(), vec![format!("curl -iN {chats} \\\n      -d {stream}")]),
        (
            "forbid: this one never leaves the machine".to_owned(),
            vec![format!("curl -i {chats} -H 'X-SIE-Remote: forbid' \\\n      -d {whole}")],
        ),
        (
            format!("make the engine cold again for {cold} s, or warm at once, and ask again"),
            ["cold", "warm"].map(|state| format!("curl -X POST http://{engine}/demo/engine/{state}")).to_vec(),
        ),
        (
            "take the upstream down, and bring it back".to_owned(),
            ["down", "up"].map(|state| format!("curl -X POST http://{upstream}/demo/upstream/{state}")).to_vec(),
        ),
        (
            "the models and their routing; readiness; the sidecar's whole configuration".to_owned(),
            vec![
                format!("curl http://{front}/v1/models"),
                format!("curl http://{admin}/readyz"),
                format!("curl http://{engine}/demo/configuration"),
            ],
        ),
    ];
    for (what, commands) in hints {
        screen.line(Ink::Dim, &format!("\n  {what}"));
        for command in commands {
            screen.line(Ink::Plain, &format!("    {command}"));
        }
    }
    screen.write("\n");
}
