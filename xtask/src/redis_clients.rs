//! Tests `serve` with clients of Redis, unchanged: redis-py and the npm package redis.

use std::env::consts::EXE_SUFFIX;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::step::{Outcome, command, exists, install_packages, root, run, target_directory};

/// The version of redis-py.
const REDIS_PY: &str = "redis==7.1.0";

/// Installs the clients, and redis-server, which tests compare with, if they are missing.
pub fn ensure() -> Outcome {
    python()?;
    let packages = root().join("tests/clients/node");
    if !packages.join("node_modules/redis").is_dir() {
        let mut npm = command("npm", &["ci", "--no-audit", "--no-fund"]);
        npm.current_dir(&packages);
        run("npm packages of the client test", npm)?;
    }
    ensure_server()
}

/// Installs redis-server if it is missing, on Debian-based systems.
pub fn ensure_server() -> Outcome {
    if !exists("redis-server") {
        install_packages(&["redis-server"])?;
    }
    match exists("redis-server") {
        true => Ok(()),
        false => Err("the tests of `serve` and `cluster` need redis-server: install it".into()),
    }
}

/// Returns the Python with redis-py.
fn python() -> Outcome<PathBuf> {
    let environment = target_directory().join("redis-py");
    let python = match cfg!(windows) {
        true => environment.join("Scripts/python.exe"),
        false => environment.join("bin/python"),
    };
    let has_package = |python: &PathBuf| {
        let mut check = std::process::Command::new(python);
        let check = check.args(["-c", "import redis"]).stderr(Stdio::null());
        check.status().is_ok_and(|status| status.success())
    };
    if !has_package(&python) {
        let name = environment.to_string_lossy();
        run(
            "Python environment",
            command("python3", &["-m", "venv", &name]),
        )?;
        let mut pip = std::process::Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", REDIS_PY]);
        run("redis-py", pip)?;
    }
    Ok(python)
}

/// Runs the clients against the debug build of the command line.
pub fn test() -> Outcome {
    let python = python()?;
    let redis_py = |server: &Server| {
        let mut client = std::process::Command::new(&python);
        client.arg(root().join("tests/clients/redis_py.py"));
        client.arg(&server.port);
        client
    };
    let tls = root().join("tests/clients/tls");
    let (certificate, key) = (tls.join("certificate.pem"), tls.join("key.pem"));
    let (shown, key) = (certificate.to_string_lossy(), key.to_string_lossy());
    let server = Server::start(&["--tls-cert", &shown, "--tls-key", &key])?;
    let mut client = redis_py(&server);
    client.arg(tls.join("authority.pem"));
    run("redis-py with serve over TLS", client)?;
    let server = Server::start(&[])?;
    run("redis-py with serve", redis_py(&server))?;
    let mut client = command("node", &["client.mjs", &server.port]);
    client.current_dir(root().join("tests/clients/node"));
    run("npm package redis with serve", client)
}

/// A server, which is stopped when this is dropped.
struct Server {
    child: Child,
    port: String,
    _directory: Directory,
}

/// A directory that is removed when this is dropped.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Server {
    fn start(options: &[&str]) -> Outcome<Self> {
        let program = format!("dedupstore{EXE_SUFFIX}");
        let program = target_directory().join("debug").join(program);
        let directory = target_directory().join(format!(
            "serve-clients-{}-{}",
            std::process::id(),
            options.len()
        ));
        let directory = Directory(directory);
        let mut child = std::process::Command::new(program)
            .arg("serve")
            .arg(&directory.0)
            .args(["--listen", "127.0.0.1:0", "--memory", "1MiB"])
            .args(options)
            .stderr(Stdio::piped())
            .spawn()?;
        let standard_error = child.stderr.take().ok_or("no standard error")?;
        let mut lines = BufReader::new(standard_error).lines();
        let port = loop {
            let line = lines.next().ok_or("the server does not start")??;
            if let Some((_, port)) = line.split_once("listening address=127.0.0.1:") {
                break port.to_owned();
            }
        };
        // It must be able to write its log.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Server {
            child,
            port,
            _directory: directory,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
