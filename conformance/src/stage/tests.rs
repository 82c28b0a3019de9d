//! Does the stage itself do what it says? The client stands straight in front of a scripted side here.

use super::client::{Client, Request};
use super::gate::Gate;
use super::pipe::Address;
use super::sample::{self, Surface};
use super::script::{Answer, Play};
use super::scripted::Scripted;
use super::setup::{Places, Setup, Upstream};
use super::{Nowhere, Room, engine, upstream};
use crate::expect::Verdict;

async fn connected(side: &Scripted) -> Verdict<Client> {
    Client::connect(side.address()).await
}

#[tokio::test]
async fn head_lines_arrive_in_order_and_case() -> Verdict {
    let side = Scripted::tcp().await?;
    let answer = Answer::with_start("HTTP/1.1 299 Odd")
        .line("b:1")
        .line("A:  2 ")
        .line("b: 3")
        .body("xyz")
        .length()
        .line("last:");
    side.on_model("m", answer);
    let mut client = connected(&side).await?;
    for _ in 0..2 {
        let received = client.ask(&sample::chat("m").line("x-odd:  v ")).await?;
        assert_eq!(received.head.start(), "HTTP/1.1 299 Odd");
        assert_eq!(received.head.lines(), ["b:1", "A:  2 ", "b: 3", "Content-Length: 3", "last:"]);
        received.is(299)?.carries(b"xyz")?.with("a", "2")?.without("c")?.undisclosed()?;
        assert!(received.with("b", "1").is_err(), "two lines of one name are not exactly one");
    }
    let heard = side.journal().heard_of("m");
    assert_eq!(heard.len(), 2);
    assert!(heard.iter().all(|heard| heard.connection == 1 && heard.whole));
    assert_eq!(heard[0].head.lines(), sample::chat("m").line("x-odd:  v ").lines());
    Ok(())
}

#[tokio::test]
async fn every_framing_is_read_and_a_cut_is_told_from_an_end() -> Verdict {
    let side = Scripted::tcp().await?;
    side.on_path("/chunked", Answer::new(200).body("0123456789").chunked(3));
    side.on_path("/closing", Answer::new(200).body("0123456789").until_close());
    side.on_path(
        "/cut-length",
        Play::raw(Answer::new(200).field("Content-Length", "20").head()).send("0123456789").cut(),
    );
    side.on_path("/cut-chunk", Play::stream().event("0123456789").cut());
    side.on_path("/cut-chunks-end", Play::stream().event("0123456789").close());
    for (path, whole) in [
        ("/chunked", true),
        ("/closing", true),
        ("/cut-length", false),
        ("/cut-chunk", false),
        ("/cut-chunks-end", false),
    ] {
        let received = connected(&side).await?.ask(&Request::get(path)).await?;
        assert_eq!(received.whole, whole, "{path}");
        // A reset may destroy what was still on its way.
        assert!(received.body == b"0123456789" || !whole, "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn a_stream_stands_at_its_gate() -> Verdict {
    let side = Scripted::tcp().await?;
    let gate = Gate::new();
    side.on_any(Play::stream().event("data: 1\n\n").gate(&gate).event("data: 2\n\ndata: 3\n\n").end());
    let mut client = connected(&side).await?;
    client.send(Request::get("/s").bytes()).await?;
    assert_eq!(client.head().await?.status(), 200);
    assert_eq!(client.event().await?.as_deref(), Some("data: 1"));
    gate.reached().await?;
    assert!(!client.heard_within(std::time::Duration::from_millis(1)).await);
    gate.open();
    assert_eq!(client.events().await?, ["data: 2", "data: 3"]);
    assert_eq!(client.ask(&Request::get("/s")).await?.body, b"data: 1\n\ndata: 2\n\ndata: 3\n\n");
    Ok(())
}

#[tokio::test]
async fn a_peer_that_leaves_is_noted() -> Verdict {
    let side = Scripted::tcp().await?;
    let gate = Gate::new();
    side.on_path("/gate", Play::default().gate(&gate));
    side.on_path("/hang", Play::hang());
    for (number, path) in [(1, "/gate"), (2, "/hang")] {
        let mut client = connected(&side).await?;
        client.send(Request::get(path).bytes()).await?;
        side.journal().until("the request", |record| record.heard.len() == number).await?;
        assert!(side.journal().record().endings.len() == number - 1);
        drop(client);
        side.journal().closed_by_peer(number).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_early_answer_leaves_the_body_unread() -> Verdict {
    let side = Scripted::tcp().await?;
    side.early_on_path("/v1/chat/completions", Play::from(engine::loading(Surface::Chat)).ignore());
    let mut client = connected(&side).await?;
    client.send(Request::new("POST", "/v1/chat/completions").field("Content-Length", "1000000").head()).await?;
    client.answer().await?.is(503)?.openai_code("MODEL_LOADING")?.with("Retry-After", "5")?;
    let heard = side.journal().calls();
    assert!(heard.len() == 1 && !heard[0].whole && heard[0].body.is_empty());
    Ok(())
}

#[tokio::test]
async fn plays_take_turns_and_later_rules_win() -> Verdict {
    let side = Scripted::tcp().await?;
    side.on_any(Answer::new(404));
    side.turns("m", vec![engine::loading(Surface::Chat).into(), Answer::new(200).into()]);
    let mut client = connected(&side).await?;
    for status in [503, 200, 200] {
        client.ask(&sample::chat("m")).await?.is(status)?;
    }
    client.ask(&sample::chat("other")).await?.is(404)?;
    side.on_model("m", Answer::new(418));
    client.ask(&sample::chat("m")).await?.is(418)?;
    side.journal().expect_calls("side", 5)?;
    assert!(side.journal().expect_calls("side", 4).is_err());
    Ok(())
}

#[tokio::test]
async fn connections_end_on_order() -> Verdict {
    let mut side = Scripted::tcp().await?;
    side.on_any(Answer::new(200));
    let mut idle = connected(&side).await?;
    idle.ask(&Request::get("/")).await?;
    side.close_idle();
    idle.ended().await?;
    side.reset_connections();
    assert!(connected(&side).await?.ask(&Request::get("/")).await.is_err());
    side.stop().await?;
    assert!(Client::connect(side.address()).await.is_err(), "nobody listens after the stop");
    let nowhere = Nowhere::new()?;
    assert!(Client::connect(nowhere.address()).await.is_err(), "nobody listens nowhere");
    side.journal().expect_calls("side", 0)
}

#[tokio::test]
async fn a_reset_shows_as_no_answer_and_pieces_are_kept() -> Verdict {
    let side = Scripted::tcp().await?;
    side.on_any(Play::reset());
    let mut client = connected(&side).await?;
    assert!(client.ask(&Request::get("/")).await.is_err());
    let mut piece = connected(&side).await?;
    piece.send("GET / HT").await?;
    drop(piece);
    let record = side.journal().until("the piece", |record| !record.fragments.is_empty()).await?;
    assert_eq!(record.fragments, [b"GET / HT".to_vec()]);
    let mut half = connected(&side).await?;
    half.send("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc").await?;
    half.half_close().await?;
    let record = side.journal().until("the half", |record| record.heard.len() == 2).await?;
    assert!(!record.heard[1].whole && record.heard[1].body == b"abc");
    Ok(())
}

#[tokio::test]
async fn expectation_upgrade_and_interim_heads() -> Verdict {
    let side = Scripted::tcp().await?;
    side.on_model("m", Play::raw("HTTP/1.1 103 Early Hints\r\n\r\n").then(engine::success(Surface::Chat, "m")));
    side.on_path("/ws", Play::upgrade_echo("echo"));
    let mut client = connected(&side).await?;
    let request = sample::chat("m").field("Expect", "100-continue");
    client.send(request.head()).await?;
    assert_eq!(client.head().await?.status(), 100);
    client.send(&request.bytes()[request.head().len()..]).await?;
    let received = client.answer().await?;
    assert_eq!(received.interim.len(), 1);
    assert_eq!(received.json()?["model"], "m");
    client.send(Request::get("/ws").field("Upgrade", "echo").bytes()).await?;
    assert_eq!(client.head().await?.status(), 101);
    client.send("any bytes").await?;
    assert_eq!(client.raw(9).await?, b"any bytes");
    Ok(())
}

#[tokio::test]
async fn unix_sockets_and_chunked_requests() -> Verdict {
    let room = Room::new()?;
    let side = Scripted::unix(&room.path.join("s.sock"))?;
    side.on_model("m", engine::success(Surface::Chat, "m"));
    let mut client = connected(&side).await?;
    client.send(sample::chat("m").chunked(5)).await?;
    client.answer().await?.is(200)?;
    assert_eq!(side.journal().heard()[0].json(), sample::chat_body("m"));
    Ok(())
}

#[tokio::test]
async fn every_surface_has_a_request_that_names_its_model_and_an_answer() -> Verdict {
    let names =
        ["audio", "chat", "chat.stream", "completions", "completions.stream", "embeddings", "encode", "extract"];
    let more = ["generate", "generate.stream", "rerank", "responses", "score"];
    let local = Scripted::tcp().await?;
    let remote = Scripted::tcp().await?;
    remote.choose(|_| true, upstream::success);
    for name in names.into_iter().chain(more) {
        let surface = Surface::named(name).expect("the names are the fixture's");
        local.on_model("org/m", engine::success(surface, "org/m"));
        for side in [&local, &remote] {
            let received = connected(side).await?.ask(&sample::request(surface, "org/m")).await?;
            received.is(200)?;
            assert!(received.whole && !received.body.is_empty(), "{name}");
            assert_eq!(received.body.ends_with(sample::DONE.as_bytes()), surface.is_stream(), "{name}");
        }
    }
    assert_eq!(local.journal().heard_of("org/m").len(), 13, "every request names the model");
    Ok(())
}

#[test]
fn the_msgpack_vector_is_the_recorded_form() {
    // The array 1.0, 2.0 as it was recorded from the reference.
    let array = "85c4026e64c3c40474797065a33c6634c4046b696e64c400c40573686170659102c40464617461c4080000803f00000040";
    let hex: String = sample::msgpack(Surface::Encode).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, format!("81a56974656d739181a564656e736581a676616c756573{array}"));
}

#[test]
fn a_setup_renders_to_one_deployment_file() -> Verdict {
    let port = Nowhere::new()?.address().clone();
    let places =
        Places { front: port.clone(), admin: port.clone(), engine: Address::Unix("/e.sock".into()), upstream: port };
    let setup = Setup::new()
        .top("remote_serving = false")
        .hybrid("org/chat")
        .upstream(Upstream::openai("hosted").rate_cap(1, 2));
    let text = setup.render(&places);
    for part in [
        "remote_serving = false\n",
        "base_url = \"unix:/e.sock\"",
        "rate_cap = { requests_per_minute = 1, max_concurrency = 2 }",
        "[models.\"org/chat\"]",
        "upstream_model = \"vendor/chat\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(text.find("remote_serving") < text.find('['), "top-level keys come before every table");
    assert_eq!(text.matches("[upstreams.hosted]").count(), 1);
    Ok(())
}
