//! `dedupstore serve`: replies, restarts, limits and security. Longer runs are `cargo xtask serve`.
#![cfg(unix)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use dedupstore_server::resp::Value;
use dedupstore_tests::fixture;
use dedupstore_tests::serve::{ServerProcess, Wire, crowd, frames, kills};
use tempfile::TempDir;

use crate::DEDUPSTORE;
use crate::run_command::{assert_fails, assert_prints, run};

pub const SMALL: [&str; 4] = ["--memory", "64KiB", "--seed", "1"];

pub fn directory() -> TempDir {
    TempDir::new().expect("a directory")
}

pub fn start(directory: &TempDir, options: &[&str]) -> ServerProcess {
    ServerProcess::start(Path::new(DEDUPSTORE), directory.path(), options)
}

pub fn small(directory: &TempDir) -> ServerProcess {
    start(directory, &SMALL)
}

/// The transcript has what RedisBloom and Redis document; see its head.
#[test]
fn replies_are_those_that_redisbloom_documents() {
    let directory = directory();
    let server = start(&directory, &[&SMALL[..], &["--allow-delete"]].concat());
    let text = std::fs::read_to_string(fixture("serve-transcript.txt")).expect("a fixture");
    let mut wire = server.connect();
    let mut requests = 0;
    let mut lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    while let Some(line) = lines.next() {
        let request = line.strip_prefix("> ").expect("a request");
        let expected = lines.next().expect("a reply").strip_prefix("< ");
        let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
        let reply = wire.try_call(&words).expect("a reply");
        assert_eq!(Some(&*shown(&reply)), expected, "{request}");
        requests += 1;
    }
    assert!(requests > 40, "{requests}");
}

/// Shows a reply with its type.
fn shown(value: &Value) -> String {
    match value {
        Value::Simple(text) => format!("+{text}"),
        Value::Error(text) => format!("-{text}"),
        Value::Integer(value) => format!(":{value}"),
        Value::Boolean(value) => format!("#{value}"),
        Value::Bulk(bytes) => format!("${}", bytes.escape_ascii()),
        Value::Null => "nil".to_owned(),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(shown).collect();
            format!("[{}]", values.join(" "))
        }
    }
}

#[test]
fn keys_survive_a_kill_and_a_restart() {
    let directory = directory();
    let summary = kills::run(
        Path::new(DEDUPSTORE),
        directory.path(),
        3,
        Duration::from_millis(300),
    );
    assert!(
        summary.acknowledged > 1000 && summary.committed > 100,
        "{summary:?}"
    );
    assert!(summary.offered_again > 10, "{summary:?}");
}

#[test]
fn random_and_mutated_requests_do_no_harm() {
    let directory = directory();
    let summary = frames::run(Path::new(DEDUPSTORE), directory.path(), 20_000, 1);
    assert!(summary.requests >= 20_000, "{summary:?}");
}

#[test]
fn clients_that_misbehave_cost_bounded_memory() {
    let directory = directory();
    let summary = crowd::run(Path::new(DEDUPSTORE), directory.path(), 150);
    assert!(summary.slowest < Duration::from_secs(5), "{summary:?}");
}

#[test]
fn requests_of_a_pipeline_to_several_stores_are_answered_in_order() {
    let directory = directory();
    let server = small(&directory);
    let mut wire = server.connect();
    let mut bytes = Vec::new();
    for number in 0..1000 {
        bytes
            .extend(format!("BF.ADD a {number}\r\nPING {number}\r\nSADD b {number} x\r\n").bytes());
        bytes.extend(format!("BF.MEXISTS a {number} no{number}\r\n").bytes());
    }
    wire.send(&bytes).expect("sent");
    for number in 0..1000 {
        assert_eq!(wire.receive().expect("a reply"), Value::Integer(1));
        assert_eq!(
            wire.receive().expect("a reply").to_string(),
            number.to_string()
        );
        let added = if number == 0 { 2 } else { 1 };
        assert_eq!(
            wire.receive().expect("a reply"),
            Value::Integer(added),
            "{number}"
        );
        assert_eq!(wire.receive().expect("a reply").to_string(), "1 0");
    }
}

#[test]
fn transactions_answer_all_requests_at_exec() {
    let directory = directory();
    let server = small(&directory);
    let mut wire = server.connect();
    assert_eq!(wire.call("MULTI").to_string(), "OK");
    assert_eq!(wire.call("BF.ADD new a").to_string(), "QUEUED");
    assert_eq!(wire.call("BF.MADD other a b").to_string(), "QUEUED");
    let Value::Array(replies) = wire.call("EXEC") else {
        panic!("expected an array");
    };
    assert_eq!(replies[0], Value::Integer(1));
    assert_eq!(replies[1].to_string(), "1 1");
    wire.call("MULTI");
    assert!(wire.call("NONSENSE").to_string().starts_with("ERR unknown"));
    assert!(wire.call("EXEC").to_string().starts_with("EXECABORT"));
    assert_eq!(wire.call("EXEC").to_string(), "ERR EXEC without MULTI");
}

#[test]
fn a_term_signal_closes_the_stores_and_exits_with_0() {
    let directory = directory();
    let server = small(&directory);
    server.connect().call("BF.ADD links a");
    assert_eq!(server.signal("TERM"), Some(0));
    let store = directory.path().join("links.dds");
    let store = store.to_str().expect("text");
    let inspected = run(&["inspect", store, "--json"], b"");
    let text = String::from_utf8_lossy(&inspected.stdout).into_owned();
    assert!(
        text.contains("\"observations\":1,"),
        "a checkpoint was taken: {text}"
    );
    // The store is free again, and another server finds it by its path.
    let server = ServerProcess::start(Path::new(DEDUPSTORE), Path::new(store), &[]);
    assert_eq!(
        server.connect().call("BF.EXISTS links a"),
        Value::Integer(1)
    );
    assert!(
        server
            .connect()
            .call("BF.ADD other a")
            .to_string()
            .contains("no directory")
    );
}

/// A page in a browser cannot hide commands in a request of HTTP.
#[test]
fn a_connection_that_speaks_http_is_closed() {
    let directory = directory();
    let server = small(&directory);
    for head in [
        "POST / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    ] {
        let mut wire = server.connect();
        let body = "\r\nBF.ADD links hidden\r\n";
        wire.send(format!("{head}{body}").as_bytes()).expect("sent");
        // At most the error of `GET`, which Redis has as a command, and then the end.
        while let Ok(answer) = wire.receive() {
            assert!(answer.to_string().contains("unknown command"), "{answer}");
        }
    }
    assert_eq!(
        server.connect().call("BF.EXISTS links hidden"),
        Value::Integer(0)
    );
}

#[test]
fn shutdown_ends_the_server() {
    let directory = directory();
    let server = small(&directory);
    let mut wire = server.connect();
    wire.call("BF.ADD links a");
    assert!(
        wire.try_call(&[b"SHUTDOWN"]).is_err(),
        "the connection is closed"
    );
    let started = Instant::now();
    while Wire::try_connect(server.address()).is_ok() {
        assert!(started.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn other_machines_need_a_password() {
    let directory = directory();
    let path = directory.path().to_str().expect("text");
    assert_fails(
        &["serve", path, "--listen", "0.0.0.0:0"],
        &["--requirepass-file", "--tls-cert", "proxy"],
    );
    let password = directory.path().join("password");
    std::fs::write(&password, "sesame\n").expect("written");
    let option = ["--requirepass-file", password.to_str().expect("text")];
    let server = start(&directory, &[&SMALL[..], &option].concat());
    let mut wire = server.connect();
    assert!(
        wire.call("BF.ADD links a")
            .to_string()
            .starts_with("NOAUTH")
    );
    assert!(wire.call("HELLO 3").to_string().starts_with("NOAUTH"));
    assert!(wire.call("AUTH sesam").to_string().starts_with("WRONGPASS"));
    assert!(
        wire.call("AUTH other sesame")
            .to_string()
            .starts_with("WRONGPASS")
    );
    assert!(
        wire.call("BF.ADD links a")
            .to_string()
            .starts_with("NOAUTH")
    );
    assert_eq!(wire.call("AUTH sesame").to_string(), "OK");
    assert_eq!(wire.call("BF.ADD links a"), Value::Integer(1));
    let mut wire = server.connect();
    let hello = wire.call("HELLO 3 AUTH default sesame").to_string();
    assert!(hello.contains("proto 3"), "{hello}");
    assert_eq!(wire.call("BF.ADD links a"), Value::Boolean(false));
    let address = format!("redis://:sesame@{}/links", server.address());
    assert_prints(&["contains", &address, "a"], b"", b"seen\ta\n");
    let address = format!("redis://:wrong@{}/links", server.address());
    assert_fails(
        &["inspect", &address],
        &["refuses the login", "set DEDUPSTORE_PASSWORD"],
    );
}

#[test]
fn names_of_stores_stay_in_the_directory() {
    let directory = directory();
    let below = directory.path().join("stores");
    std::fs::create_dir(&below).expect("created");
    let server = ServerProcess::start(Path::new(DEDUPSTORE), &below, &SMALL);
    let mut wire = server.connect();
    for name in ["../outside", "/tmp/absolute", "..", "a/b", "nul\0byte"] {
        let reply = wire
            .try_call(&[b"BF.ADD", name.as_bytes(), b"key"])
            .expect("a reply");
        assert_eq!(reply, Value::Integer(1), "{name}");
    }
    let outside = std::fs::read_dir(directory.path())
        .expect("readable")
        .count();
    assert_eq!(outside, 1, "only the directory of the stores");
    assert_eq!(std::fs::read_dir(&below).expect("readable").count(), 5);
    let long = "x".repeat(300);
    let reply = wire
        .try_call(&[b"BF.ADD", long.as_bytes(), b"key"])
        .expect("a reply");
    assert!(reply.to_string().contains("too long"), "{reply}");
}

#[test]
fn limits_of_requests_and_clients_are_kept() {
    let directory = directory();
    let limits = [
        "--max-key",
        "100",
        "--max-request",
        "10KiB",
        "--max-clients",
        "3",
    ];
    let options = [&SMALL[..], &limits, &["--idle-timeout", "1s"]].concat();
    let server = start(&directory, &options);
    let mut wire = server.connect();
    let key = "x".repeat(101);
    let reply = wire
        .try_call(&[b"BF.ADD", b"a", key.as_bytes()])
        .expect("a reply");
    assert!(
        reply.to_string().starts_with("ERR Protocol error"),
        "{reply}"
    );
    assert!(wire.receive().is_err(), "the connection is closed");
    let mut wire = server.connect();
    let mut request = String::from("*300\r\n");
    (0..300).for_each(|_| request += &format!("$50\r\n{}\r\n", "x".repeat(50)));
    let _ = wire.send(request.as_bytes());
    assert!(
        wire.receive()
            .expect("a reply")
            .to_string()
            .contains("10240 bytes")
    );
    let mut three: Vec<Wire> = (0..3).map(|_| server.connect()).collect();
    three.iter_mut().for_each(|wire| drop(wire.call("PING")));
    let mut fourth = server.connect();
    let refused = fourth.receive().expect("a reply").to_string();
    assert_eq!(refused, "ERR max number of clients reached");
    // All are idle.
    std::thread::sleep(Duration::from_millis(2500));
    assert!(
        three[0].try_call(&[b"PING"]).is_err(),
        "idle connections are closed"
    );
    assert_eq!(server.connect().call("PING").to_string(), "PONG");
}

#[test]
fn claims_end_with_their_time_or_with_the_connection_of_filter() {
    let directory = directory();
    let options = [&SMALL[..], &["--claim-timeout", "300ms"]].concat();
    let server = start(&directory, &options);
    let (mut one, mut other) = (server.connect(), server.connect());
    let Value::Array(ticket) = one.call("DEDUP.CLAIM links a") else {
        panic!("expected an array");
    };
    assert_eq!(other.call("DEDUP.CLAIM links a").to_string(), "-1");
    std::thread::sleep(Duration::from_millis(400));
    let again = other.call("DEDUP.CLAIM links a").to_string();
    assert!(again.parse::<u64>().is_ok_and(|again| again > 0), "{again}");
    let late = one.call(&format!("DEDUP.COMMIT links {}", ticket[0]));
    assert_eq!(late.to_string(), "0", "the claim has ended");
    assert_eq!(
        other
            .call(&format!("DEDUP.COMMIT links {again}"))
            .to_string(),
        "1"
    );
    assert_eq!(one.call("DEDUP.CLAIM links a").to_string(), "0", "seen");
    // A claim of hashed keys ends with its connection.
    let hashed = [b'k'; 16];
    let claim = |wire: &mut Wire| match wire.try_call(&[b"DEDUP.HCLAIM", b"links", &hashed]) {
        Ok(Value::Bulk(bytes)) => i64::from_le_bytes(bytes.try_into().expect("8 bytes")),
        other => panic!("{other:?}"),
    };
    assert!(claim(&mut one) > 0);
    assert_eq!(claim(&mut other), -1);
    let add = |wire: &mut Wire, keys: &[u8]| {
        let added = wire.try_call(&[b"DEDUP.HADD", b"links", keys]);
        added.expect("a reply").to_string()
    };
    assert_eq!(add(&mut other, &[b'n'; 32]), "1 0");
    assert_eq!(add(&mut other, &[]), "");
    assert!(add(&mut other, &[b'n'; 15]).contains("16 bytes"));
    drop(one);
    std::thread::sleep(Duration::from_millis(50));
    assert!(claim(&mut other) > 0);
}

#[test]
fn metrics_and_health_are_served() {
    let directory = directory();
    let options = [&SMALL[..], &["--metrics-listen", "127.0.0.1:0"]].concat();
    let server = start(&directory, &options);
    server.connect().call("BF.MADD links a b a");
    let started = Instant::now();
    let address = loop {
        if let Some((_, address)) = server.log().split_once("metrics address=") {
            break address.lines().next().unwrap_or_default().to_owned();
        }
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "{}",
            server.log()
        );
    };
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).expect("connected");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: prometheus\r\n\r\n").expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("text");
        text
    };
    assert!(get("/health").ends_with("ready\n"));
    assert!(get("/other").starts_with("HTTP/1.1 404"));
    let metrics = get("/metrics");
    assert!(
        metrics.contains("\ndedupstore_server_keys_total 3\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("store_observations{store=\"links\",verdict=\"new\"}"),
        "{metrics}"
    );
}

#[test]
fn a_service_manager_is_told_when_the_server_is_ready() {
    use std::os::unix::net::UnixDatagram;
    let directory = directory();
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("bound");
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a socket");
    let stores = directory.path().join("stores");
    let mut child = Command::new(DEDUPSTORE)
        .args([
            "serve",
            stores.to_str().expect("text"),
            "--listen",
            "127.0.0.1:0",
            "-q",
        ])
        .env("NOTIFY_SOCKET", &path)
        .spawn()
        .expect("started");
    let mut message = [0; 100];
    let count = socket.recv(&mut message).expect("a message");
    assert!(message[..count].starts_with(b"READY=1"));
    let number = child.id().to_string();
    let sent = Command::new("kill").args(["-s", "TERM", &number]).status();
    assert!(sent.expect("kill exists").success());
    let count = socket.recv(&mut message).expect("a message");
    assert_eq!(&message[..count], b"STOPPING=1");
    assert_eq!(child.wait().expect("ended").code(), Some(0));
}

#[test]
fn a_unix_socket_is_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = directory();
    let path = directory.path().join("socket");
    let option = ["--unix", path.to_str().expect("text")];
    let server = start(&directory, &[&SMALL[..], &option].concat());
    let mode = std::fs::metadata(&path)
        .expect("a socket")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let address = format!("redis+unix://{}?store=links", path.display());
    assert_prints(&["filter", &address], b"a\na\n", b"a\n");
    // A killed server leaves the socket; the next one replaces it.
    server.kill();
    assert!(path.exists());
    let server = start(&directory, &[&SMALL[..], &option].concat());
    assert_prints(&["filter", &address], b"a\nb\n", b"b\n");
    assert_eq!(server.signal("TERM"), Some(0));
    assert!(!path.exists());
}
