//! What does the operator see when an address cannot be had?

use crate::engine::{always, json};
use crate::pipe::{get, within};
use crate::sidecar::{Front, Setup, command};
use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Child;

/// Ends a process that should have ended by itself.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the binary to its end: exit code and what it said.
async fn run(config: &Path) -> (Option<i32>, String) {
    let mut child = Ended(command(config).spawn().expect("the binary starts"));
    let mut stderr = child.0.stderr.take().expect("stderr is piped");
    let (tell, ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut said = String::new();
        let _ = stderr.read_to_string(&mut said);
        let _ = tell.send(said);
    });
    let said = within("the binary to give up", ended).await.expect("stderr is read");
    (child.0.wait().expect("it ends").code(), said)
}

async fn fails(setup: &Setup) -> (Option<i32>, String) {
    run(&setup.write()).await
}

#[tokio::test]
async fn a_stale_socket_file_is_replaced() {
    let (engine, _) = always(json("200 OK", "{}")).await;
    let setup = Setup::new(Front::Unix, &engine.place);
    // Both listeners: the file stays when its listener goes.
    drop(UnixListener::bind(setup.path("front.sock")).expect("a socket"));
    drop(UnixListener::bind(setup.path("admin.sock")).expect("a socket"));
    let sidecar = setup.start().await;
    assert_eq!(sidecar.connect().await.ask(get("/")).await.0.status(), 200);
    assert_eq!(sidecar.ready().await, 200);
}

#[tokio::test]
async fn a_live_socket_is_the_operators_mistake() {
    let (engine, _) = always(json("200 OK", "{}")).await;
    let setup = Setup::new(Front::Unix, &engine.place);
    let path = setup.path("front.sock");
    let live = UnixListener::bind(&path).expect("a socket");
    let (code, said) = fails(&setup).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains(path.to_str().expect("text")) && said.contains("listen.address"), "{said}");
    assert!(said.contains("in use") && !said.contains("panicked"), "{said}");
    drop(live);
    assert!(path.exists(), "the file of another process was not taken away");
}

#[tokio::test]
async fn what_is_not_a_socket_is_left_alone() {
    let (engine, _) = always(json("200 OK", "{}")).await;
    let setup = Setup::new(Front::Unix, &engine.place);
    std::fs::write(setup.path("front.sock"), "a file of the operator's").expect("a file");
    let (code, said) = fails(&setup).await;
    assert_eq!(code, Some(2), "{said}");
    let kept = std::fs::read_to_string(setup.path("front.sock")).expect("the file is there");
    assert_eq!(kept, "a file of the operator's", "{said}");
}

#[tokio::test]
async fn a_taken_port_is_the_operators_mistake() {
    let (engine, _) = always(json("200 OK", "{}")).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let setup = Setup::new(Front::Plain, &engine.place).listen(&format!("address = \"{address}\""));
    let (code, said) = fails(&setup).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains(&address.to_string()) && said.contains("listen.address"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[tokio::test]
async fn a_taken_admin_address_is_the_operators_mistake() {
    let (engine, _) = always(json("200 OK", "{}")).await;
    let setup = Setup::new(Front::Plain, &engine.place);
    let _live = UnixListener::bind(setup.path("admin.sock")).expect("a socket");
    let (code, said) = fails(&setup).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("admin.address"), "{said}");
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_the_operators_mistake() {
    let (engine, _) = always(json("200 OK", "{}")).await;
    let setup = Setup::new(Front::Tls, &engine.place).asks_clients();
    let config = setup.write();
    for name in ["front.crt", "front.key", "callers.pem"] {
        let whole = std::fs::read(setup.path(name)).expect("a file");
        std::fs::write(setup.path(name), "not a certificate").expect("a file");
        let (code, said) = run(&config).await;
        assert_eq!(code, Some(2), "{name}: {said}");
        assert!(said.contains("listen.tls") && !said.contains("panicked"), "{name}: {said}");
        std::fs::write(setup.path(name), whole).expect("a file");
    }
    // A key that belongs to another certificate.
    let (_, key) = setup.authority.pair("other").write(setup.folder.path(), "other");
    std::fs::copy(key, setup.path("front.key")).expect("a file");
    let (code, said) = run(&config).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("listen.tls") && !said.contains("panicked"), "{said}");
}

#[tokio::test]
async fn an_upstreams_certificates_that_cannot_be_used_are_the_operators_mistake() {
    let (engine, _) = always(json("200 OK", "{}")).await;
    let setup = Setup::new(Front::Plain, &engine.place);
    let authority = setup.authority.write(setup.folder.path(), "ca");
    let (cert, _) = setup.authority.pair("us").write(setup.folder.path(), "us");
    let (_, foreign) = setup.authority.pair("them").write(setup.folder.path(), "them");
    let gone = setup.path("gone.pem");
    let broken = [
        ("ca_file", format!("tls = {{ ca_file = {gone:?} }}")),
        ("client_cert_file", format!("tls = {{ client_cert_file = {gone:?}, client_key_file = {foreign:?} }}")),
        (
            "client_key_file",
            format!("tls = {{ ca_file = {authority:?}, client_cert_file = {cert:?}, client_key_file = {foreign:?} }}"),
        ),
    ];
    for (key, more) in broken {
        let setup = Setup::new(Front::Plain, &engine.place).models("https://localhost:1/v1", &more);
        let (code, said) = fails(&setup).await;
        assert_eq!(code, Some(2), "{key}: {said}");
        assert!(said.contains(&format!(".tls.{key}")) && !said.contains("panicked"), "{key}: {said}");
    }
}
