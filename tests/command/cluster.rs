//! `create`, `filter`, `contains`, `inspect` and `repair` with a store on Redis.

use crate::redis_servers::{Cluster, Server};
use crate::run_command::{assert_fails, assert_prints, run, standard_error};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lines(range: std::ops::Range<u64>) -> Vec<u8> {
    range
        .map(|it| format!("https://harbour.example/{it}\n"))
        .collect::<String>()
        .into_bytes()
}

#[test]
fn commands_take_the_address_of_a_cluster() {
    let mut cluster = Cluster::start(3, false);
    let address = cluster.address("links");
    let created = run(
        &["create", &address, "--slices", "12", "--memory", "1MiB"],
        b"",
    );
    assert_eq!(
        created.status.code(),
        Some(0),
        "{}",
        standard_error(&created)
    );
    assert!(text(&created.stdout).contains("horizontal:12"));
    assert_fails(&["create", &address], &["there is a store `links` already"]);
    assert_prints(&["filter", &address], b"a\nb\na\nc\nb\n", b"a\nb\nc\n");
    assert_prints(&["filter", &address], b"c\nd\n", b"d\n");
    assert_prints(&["filter", &address, "--dry-run"], b"d\ne\ne\n", b"e\n");
    assert_prints(&["filter", &address, "-d"], b"e\na\n", b"a\n");
    let output = run(&["contains", &address], b"a\nx\n");
    assert_eq!(output.stdout, b"seen\ta\nnew\tx\n");
    assert_eq!(output.status.code(), Some(1), "{}", standard_error(&output));
    assert_fails(
        &["filter", &address, "--memory", "2MiB"],
        &["2 MiB was asked for"],
    );
    assert_fails(&["filter", &address, "--window", "7d"], &["--window"]);
    assert_fails(&["filter", "--leaf", "x.dds"], &["needs a store on Redis"]);

    // A leaf answers repeats.
    let directory = tempfile::tempdir().expect("a directory");
    let leaf = directory.path().join("leaf.dds");
    let leaf = leaf.to_str().expect("text");
    let many = lines(0..3000);
    let asked = |output: &std::process::Output| {
        let inspected = run(&["inspect", &address, "--json"], b"");
        let json = text(&inspected.stdout);
        let counts = json.split("\"key_messages\":").nth(1).expect("counts");
        let number: String = counts.chars().take_while(char::is_ascii_digit).collect();
        assert_eq!(output.status.code(), Some(0), "{}", standard_error(output));
        number.parse::<u64>().expect("a number")
    };
    let first = run(
        &["filter", &address, "--leaf", leaf, "--memory", "1MiB"],
        &many,
    );
    let printed = first.stdout.iter().filter(|&&byte| byte == b'\n').count();
    assert!(
        printed >= 2998,
        "{printed}: a chance of 2^-16 each to be dropped"
    );
    let before = asked(&first);
    let again = run(&["filter", &address, "--leaf", leaf], &many);
    let repeated = again.stdout.iter().filter(|&&byte| byte == b'\n').count();
    assert!(
        repeated < 100,
        "{repeated} lines were overwritten in their slots"
    );
    let messages = asked(&again) - before;
    assert!(messages < 300, "the leaf answers: {messages} messages");

    // A node that comes back empty is reported, and rebuilt from the lines.
    let report = text(&run(&["inspect", &address], b"").stdout);
    assert!(
        report.contains("3 nodes in a cluster") && report.contains("slice 11"),
        "{report}"
    );
    cluster.masters[1].kill();
    let output = run(&["filter", &address], &many);
    assert!(
        standard_error(&output).contains("did not answer"),
        "{}",
        standard_error(&output)
    );
    cluster.masters[1].restart();
    crate::redis_servers::until("a node that is back", || {
        text(&run(&["inspect", &address], b"").stdout).contains("lost its content")
            && !text(&run(&["inspect", &address], b"").stdout).contains("does not answer")
    });
    assert_fails(&["repair", &address], &["4 slices failed", "--from FILE"]);
    let file = directory.path().join("lines.txt");
    std::fs::write(&file, &many).expect("a file");
    let repaired = run(
        &["repair", &address, "--from", file.to_str().expect("text")],
        b"",
    );
    assert_eq!(
        repaired.status.code(),
        Some(0),
        "{}",
        standard_error(&repaired)
    );
    assert!(standard_error(&repaired).contains("rebuilt 4 slices"));
    let output = run(&["filter", &address], &many);
    let printed = output.stdout.iter().filter(|&&byte| byte == b'\n').count();
    assert!(printed < 100, "{printed} of 3000 lines");
}

/// Two runs of `filter` on the same lines: together they print each line once.
#[test]
fn two_filters_on_redis_print_each_line_once() {
    let server = Server::start(&["--requirepass", "swordfish"]);
    let address = format!("redis://:swordfish@127.0.0.1:{}/links", server.port);
    let all = lines(0..20_000);
    let filter = || run(&["filter", &address], &all);
    let outputs = std::thread::scope(|scope| {
        run(&["create", &address, "--memory", "8MiB"], b"");
        let runs = [scope.spawn(filter), scope.spawn(filter)];
        runs.map(|it| it.join().expect("ended"))
    });
    let mut printed: Vec<&[u8]> = Vec::new();
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", standard_error(output));
        printed.extend(output.stdout.split_inclusive(|&byte| byte == b'\n'));
    }
    let count = printed.len();
    printed.sort();
    printed.dedup();
    // 20,000 keys in 4 million slots: about 50 are overwritten, and may be new to the other run.
    assert!(
        count - printed.len() < 150,
        "{} lines twice",
        count - printed.len()
    );
    assert!(printed.len() >= 19_995);
    let wrong = format!("redis://:wrong@127.0.0.1:{}/links", server.port);
    let output = run(&["inspect", &wrong], b"");
    assert!(standard_error(&output).contains("DEDUPSTORE_PASSWORD"));
    assert!(!standard_error(&output).contains("wrong@"));
}
