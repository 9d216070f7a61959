//! Wrong addresses, passwords, servers and contents get messages that help.

use dedupstore::sites::{FailureRule, SiteVerdict};
use dedupstore_cluster::{Access, ClusterStore, Credentials};

use crate::servers::{Cluster, Server};
use crate::stores::{access, address, create, key, observe, open, options, shared_cluster};

fn error_of(text: &str, access: Access) -> String {
    match ClusterStore::open(&address(text), access) {
        Ok(_) => panic!("{text} opened"),
        Err(error) => error.to_string(),
    }
}

fn small() -> dedupstore_cluster::CreateOptions {
    options(
        "slot:values=65535",
        "horizontal:4",
        1 << 16,
        FailureRule::Unknown,
    )
}

fn creation_error(text: &str) -> String {
    let address = address(text);
    match ClusterStore::create(&address, access(&address), &small()) {
        Ok(_) => panic!("{text} was created"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let port = {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let text = format!("redis://:secret@127.0.0.1:{port}/x");
    let error = error_of(&text, access(&address(&text)));
    assert!(
        error.contains(&format!("cannot connect to 127.0.0.1:{port}")),
        "{error}"
    );
    assert!(!error.contains("secret"), "{error}");
    let error = error_of(
        "redis://no-such-host.invalid/x",
        access(&address("redis://h/x")),
    );
    assert!(
        error.contains("cannot connect to no-such-host.invalid:6379"),
        "{error}"
    );
}

#[test]
fn a_wrong_password_is_not_printed() {
    let server = Server::start(&["--requirepass", "correct"]);
    let with = |password: Option<&str>| {
        let text = format!("redis://127.0.0.1:{}/x", server.port);
        Access {
            credentials: Credentials {
                username: None,
                password: password.map(str::to_owned),
            },
            ..access(&address(&text))
        }
    };
    let text = format!("redis://127.0.0.1:{}/x", server.port);
    for password in [None, Some("swordfish")] {
        let error = error_of(&text, with(password));
        assert!(error.contains("refuses the login"), "{error}");
        assert!(error.contains("DEDUPSTORE_PASSWORD_FILE"), "{error}");
        assert!(!error.contains("swordfish"), "{error}");
    }
    let store = ClusterStore::create(&address(&text), with(Some("correct")), &small());
    let mut store = store.expect("the password is right");
    assert_eq!(observe(&mut store, &[key(1)], 1), [SiteVerdict::New]);
}

#[test]
fn a_redis_that_is_no_cluster_works_as_one_node() {
    let server = Server::start(&[]);
    let text = format!("redis://127.0.0.1:{}/links", server.port);
    let mut store = create(&text, &small());
    let verdicts = observe(&mut store, &[key(1), key(2), key(1)], 3);
    assert_eq!(
        verdicts,
        [SiteVerdict::New, SiteVerdict::New, SiteVerdict::Seen]
    );
    let inspection = store.inspect().expect("answers");
    assert!(!inspection.is_cluster);
    assert_eq!(inspection.nodes.len(), 1);
    assert_eq!(store.warnings(), Vec::<String>::new());
    let error = creation_error(&text);
    assert!(
        error.contains("there is a store `links` already"),
        "{error}"
    );
    let other = format!("redis://127.0.0.1:{}/pages", server.port);
    let error = error_of(&other, access(&address(&other)));
    assert!(error.contains("there is no store `pages`"), "{error}");
}

#[test]
fn what_is_in_the_way_is_named_and_kept() {
    let server = Server::start(&[]);
    let text = format!("redis://127.0.0.1:{}/links", server.port);
    let store = create(&text, &small());
    let keys: Vec<String> = server.call(&["KEYS", "dds:*"]);
    assert_eq!(keys.len(), 4 + 3, "slices and copies of the layout");
    let slice = keys
        .iter()
        .find(|key| key.ends_with(":links:2"))
        .expect("a slice");
    let layouts: Vec<&String> = keys.iter().filter(|key| key.ends_with(":layout")).collect();
    drop(store);
    // A list where a slice is.
    server.call::<()>(&["DEL", slice]);
    server.call::<()>(&["RPUSH", slice, "x"]);
    let error = error_of(&text, access(&address(&text)));
    assert!(
        error.contains(slice.as_str()) && error.contains("list"),
        "{error}"
    );
    // The same when a store is created, and a string that is no slice.
    layouts
        .iter()
        .for_each(|key| server.call::<()>(&["DEL", key]));
    assert!(creation_error(&text).contains("list"));
    server.call::<()>(&["DEL", slice]);
    server.call::<()>(&["SET", slice, "mine"]);
    let error = creation_error(&text);
    assert!(
        error.contains(slice.as_str()) || error.contains("in the way"),
        "{error}"
    );
    // Other layouts.
    for (content, reason) in [
        ("{\"dedupstore\":9}", "version 9"),
        ("mine", "no JSON"),
        ("{\"dedupstore\":1}", "`scheme`"),
    ] {
        layouts
            .iter()
            .for_each(|key| server.call::<()>(&["SET", key, content]));
        let error = error_of(&text, access(&address(&text)));
        assert!(
            error.contains(reason) && error.contains(":layout"),
            "{error}"
        );
        assert!(creation_error(&text).contains(reason));
    }
    layouts.iter().for_each(|key| {
        server.call::<()>(&["DEL", key]);
        server.call::<()>(&["RPUSH", key, "x"]);
    });
    let error = error_of(&text, access(&address(&text)));
    assert!(error.contains("in the way"), "{error}");
}

#[test]
fn settings_that_endanger_a_store_are_explained() {
    let cluster: &Cluster = shared_cluster();
    let mut store = create(&cluster.address("warnings"), &small());
    assert_eq!(store.warnings(), Vec::<String>::new());
    let server = Server::start(&[
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        "BUS_PORT",
        "--maxmemory-policy",
        "allkeys-lru",
    ]);
    server.call::<()>(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    crate::servers::until("a cluster", || {
        server
            .call::<String>(&["CLUSTER", "INFO"])
            .contains("cluster_state:ok")
    });
    let mut store = create(&format!("redis://127.0.0.1:{}/x", server.port), &small());
    let warnings = store.warnings();
    let [coverage, eviction] = &warnings[..] else {
        panic!("{warnings:?}");
    };
    let all = format!("{coverage} {eviction}");
    for words in [
        "cluster-require-full-coverage no",
        "allkeys-lru",
        "noeviction",
    ] {
        assert!(all.contains(words), "{all}");
    }
}

#[test]
fn connections_can_use_tls() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/cluster/tls");
    let file = |name: &str| format!("{directory}/{name}");
    let [certificate, secret, authority] =
        ["certificate.pem", "key.pem", "authority.pem"].map(file);
    let server = Server::start(&[
        "--tls-port",
        "BUS_PORT",
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &secret,
        "--tls-ca-cert-file",
        &authority,
        "--tls-auth-clients",
        "no",
    ]);
    let port: Vec<String> = server.call(&["CONFIG", "GET", "tls-port"]);
    let text = format!("rediss://127.0.0.1:{}/x", port[1]);
    let trusting = Access {
        certificate_authority: Some(std::fs::read(&authority).expect("a file")),
        ..access(&address(&text))
    };
    let store = ClusterStore::create(&address(&text), trusting, &small());
    let mut store = store.expect("TLS");
    assert_eq!(
        observe(&mut store, &[key(1), key(1)], 2),
        [SiteVerdict::New, SiteVerdict::Seen]
    );
    drop(store);
    let error = error_of(&text, access(&address(&text)));
    assert!(
        error.contains("cannot connect"),
        "a certificate that nobody trusts: {error}"
    );
    let _ = open(&format!("redis://127.0.0.1:{}/x", server.port));
}
