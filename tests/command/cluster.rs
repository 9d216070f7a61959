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
    assert_fails(
        &["filter", &address, "--window", "7d"],
        &["no window; one was asked for"],
    );
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

/// A store that forgets, and what `inspect` says about it.
#[test]
fn stores_on_redis_have_windows() {
    let server = Server::start(&[]);
    let address = format!("redis://127.0.0.1:{}/week", server.port);
    let created = run(
        &["create", &address, "--window", "7d", "--memory", "1MiB"],
        b"",
    );
    let created = text(&created.stdout);
    let words = "keys are forgotten after 7 d, or up to 21 h later";
    assert!(created.contains(words), "{created}");
    assert_prints(&["filter", &address], b"a\nb\na\n", b"a\nb\n");
    assert_prints(&["filter", &address, "--window", "7d"], b"b\nc\n", b"c\n");
    assert_fails(
        &["filter", &address, "--window", "8d"],
        &["a window of 7 d; 8 d was asked for"],
    );
    let inspected = text(&run(&["inspect", &address], b"").stdout);
    assert!(inspected.contains(words), "{inspected}");
    let json = text(&run(&["inspect", &address, "--json"], b"").stdout);
    assert!(json.contains("\"window_seconds\":604800.0"), "{json}");
    let vertical = format!("{address}-2");
    assert_fails(
        &[
            "create",
            &vertical,
            "--window",
            "7d",
            "--slices",
            "vertical:4",
            "--filter",
            "bloom:k=4",
        ],
        &["horizontal:N"],
    );
}

/// A run that is killed: the next one prints what was not recorded, and no line is lost.
#[test]
fn a_killed_filter_on_redis_loses_no_line() {
    let server = Server::start(&[]);
    let address = format!("redis://127.0.0.1:{}/killed", server.port);
    let all = lines(0..300_000);
    let created = [
        "create",
        &address,
        "--memory",
        "8MiB",
        "--filter",
        "bloom:k=4",
    ];
    run(&created, b"");
    let directory = tempfile::tempdir().expect("a directory");
    let input = directory.path().join("lines.txt");
    std::fs::write(&input, &all).expect("a file");
    let mut printed = std::collections::HashSet::new();
    let mut kills = 0;
    for round in 0..6u64 {
        let output = directory.path().join(format!("new-{round}"));
        let mut filter = std::process::Command::new(env!("CARGO_BIN_EXE_dedupstore"))
            .args(["filter", &address])
            .arg(&input)
            .stdout(std::fs::File::create(&output).expect("a file"))
            .spawn()
            .expect("the command");
        if round < 5 {
            std::thread::sleep(std::time::Duration::from_millis(40 * (round + 1)));
            kills += u64::from(filter.try_wait().expect("a process").is_none());
            filter.kill().expect("a process");
        }
        let status = filter.wait().expect("a process");
        assert!(round < 5 || status.success());
        // Its claims end after a minute; here, at once.
        let claims: Vec<String> = server.call(&["KEYS", "dds:*:claim:*"]);
        if !claims.is_empty() {
            let claims = claims.iter().map(String::as_str);
            server.call::<u64>(&["DEL"].into_iter().chain(claims).collect::<Vec<_>>());
        }
        let text = std::fs::read(&output).expect("a file");
        // The last line may be torn.
        let whole = text.split_inclusive(|&byte| byte == b'\n');
        let whole = whole.filter(|line| line.ends_with(b"\n"));
        printed.extend(whole.map(<[u8]>::to_vec));
    }
    assert!(kills >= 1, "no run was killed while it worked");
    let lost = all
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| !printed.contains(*line));
    // With 223 bits per key, a new one is dropped with a chance of 1 in 10 million.
    assert_eq!(lost.count(), 0, "lines were never printed");
}

/// SIGINT ends a run between two batches: it leaves no claims, for which the next run would wait.
#[test]
fn a_filter_on_redis_that_is_interrupted_leaves_no_claims() {
    let server = Server::start(&[]);
    let address = format!("redis://127.0.0.1:{}/interrupted", server.port);
    let filter = ["--filter", "bloom:k=4", "--memory", "8MiB"];
    run(&[&["create", &address], &filter[..]].concat(), b"");
    let directory = tempfile::tempdir().expect("a directory");
    let input = directory.path().join("lines.txt");
    std::fs::write(&input, lines(0..2_000_000)).expect("a file");
    let mut printed = Vec::new();
    for round in 0..3 {
        let output = directory.path().join(format!("new-{round}"));
        let mut filter = std::process::Command::new(env!("CARGO_BIN_EXE_dedupstore"))
            .args(["filter", &address])
            .arg(&input)
            .stdout(std::fs::File::create(&output).expect("a file"))
            .spawn()
            .expect("the command");
        let size = || std::fs::metadata(&output).map_or(0, |it| it.len());
        crate::redis_servers::until("a line", || size() > 0);
        let number = filter.id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-s", "INT", &number])
            .status();
        assert!(sent.expect("kill exists").success());
        assert_eq!(filter.wait().expect("a process").code(), Some(130));
        let claims: Vec<String> = server.call(&["KEYS", "dds:*:claim:*"]);
        assert_eq!(claims, Vec::<String>::new());
        printed.extend(std::fs::read(&output).expect("a file"));
    }
    // What a run has printed is recorded, so the next one goes on behind it.
    assert!(lines(0..2_000_000).starts_with(&printed));
}

/// A command that needs a local store says so, and does not repeat the password.
#[test]
fn addresses_are_not_taken_for_paths() {
    let address = "redis://:swordfish@127.0.0.1:1/links";
    let other = "redis://:swordfish@127.0.0.1:1/other";
    for arguments in [
        &["verify", address][..],
        &["explain", address, "key"],
        &["checkpoint", address],
        &["forget", address, "key"],
        &["grow", address, "--memory", "1MiB"],
        &["backup", address, "copy.dds"],
        &["merge", address, other, "copy.dds"],
        &["serve", address],
        &["filter", "lines.txt", address],
        &["filter", "lines.dds", address],
        &["simulate", address],
    ] {
        let output = run(arguments, b"");
        let text = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains("the address of a server"), "{text}");
        assert!(!text.contains("swordfish"), "{text}");
    }
}

/// A server that does not speak TLS, or does not answer at all, is not waited for without end.
#[test]
fn servers_that_do_not_answer_are_named_soon() {
    let server = Server::start(&[]);
    let address = format!("redis://127.0.0.1:{}/links", server.port);
    let started = std::time::Instant::now();
    assert_fails(
        &["inspect", &address.replace("redis:", "rediss:")],
        &["TLS"],
    );
    server.pause();
    assert_fails(&["inspect", &address], &["does not answer in time"]);
    server.resume();
    assert!(started.elapsed() < std::time::Duration::from_secs(50));
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
