//! Redis servers for tests, on free ports of the loopback interface.
//!
//! A shell starts each server, again for each line of its standard input, and ends it when that
//! input closes. So a server ends
//! with this process, however that ends, and also if it is kept in a static variable.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use redis::Value;

/// How long anything about a server may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

const SHELL: &str = r#"
directory=$1; shift
cd "$directory" || exit 1
redis-server "$@" >/dev/null 2>&1 & server=$!
echo $server
while read -r _; do
    wait $server
    redis-server "$@" >/dev/null 2>&1 & server=$!
    echo $server
done
kill -9 $server 2>/dev/null
wait $server
rm -rf "$directory"
"#;

/// A Redis server that ends when this is dropped.
pub struct Server {
    shell: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    process: u32,
    pub port: u16,
}

impl Server {
    /// Starts a server that keeps nothing on disk, with further options. In them, `BUS_PORT` is a
    /// free port.
    pub fn start(options: &[&str]) -> Self {
        // Another process may take a port between its choice and its use.
        for _ in 0..10 {
            let mut server = Server::spawn(options);
            server.read_process();
            if server.answers() {
                return server;
            }
        }
        panic!("redis-server does not start; is it installed?");
    }

    fn spawn(options: &[&str]) -> Self {
        let [port, bus_port] = free_ports();
        let directory = tempfile::Builder::new().prefix("dds-redis-").tempdir();
        let directory = directory.expect("a directory").keep();
        let options = options
            .iter()
            .map(|it| it.replace("BUS_PORT", &bus_port.to_string()));
        let mut shell = Command::new("sh")
            .args(["-c", SHELL, "sh"])
            .arg(&directory)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--loglevel", "warning"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        Server {
            input: shell.stdin.take(),
            output: BufReader::new(shell.stdout.take().expect("piped")),
            shell,
            process: 0,
            port,
        }
    }

    fn read_process(&mut self) {
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .expect("a line of the shell");
        self.process = line.trim().parse().expect("a process");
    }

    /// Waits until the server answers, or has ended.
    fn answers(&mut self) -> bool {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let is_running = || {
                let status = format!("/proc/{}/stat", self.process);
                std::fs::read_to_string(status).is_ok_and(|it| !it.contains(") Z "))
            };
            if !is_running() {
                return false;
            }
            if let Ok(mut connection) = self.connect() {
                let answer = redis::cmd("PING").query::<Value>(&mut connection);
                let port = redis::cmd("CONFIG")
                    .arg("GET")
                    .arg("port")
                    .query::<Vec<String>>(&mut connection);
                match (answer, port) {
                    (Ok(_), Ok(found)) => return found.get(1) == Some(&self.port.to_string()),
                    // It asks for a password, so it is there.
                    (Err(_), _) => return true,
                    _ => {}
                }
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    /// Connects without a password.
    fn connect(&self) -> redis::RedisResult<redis::Connection> {
        let client = redis::Client::open(("127.0.0.1", self.port))?;
        let connection = client.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        Ok(connection)
    }

    /// Sends a command and returns its answer.
    pub fn call<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_call(words)
            .unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    pub fn try_call<T: redis::FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<T> {
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(word);
        });
        command.query(&mut self.connect()?)
    }

    fn signal(&self, name: &str) {
        let process = self.process.to_string();
        let status = Command::new("kill").args([name, &process]).status();
        assert!(status.expect("kill").success(), "kill {name} {process}");
    }

    /// Ends the server at once, as a crash does.
    pub fn kill(&self) {
        self.signal("-KILL");
    }

    /// Lets the server do nothing until [`resume`](Server::resume).
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Starts a killed server again, without its memory.
    pub fn restart(&mut self) {
        let input = self.input.as_mut().expect("a shell");
        input.write_all(b"start\n").expect("a shell");
        self.read_process();
        assert!(self.answers(), "redis-server does not start again");
    }

    fn end(&mut self) {
        drop(self.input.take());
        let _ = self.shell.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns ports that nobody uses.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind(("127.0.0.1", 0)).expect("a port"));
    listeners.map(|it| it.local_addr().expect("an address").port())
}

/// A cluster of Redis servers.
pub struct Cluster {
    pub masters: Vec<Server>,
    /// Their replicas, in the same order, if there are any.
    pub replicas: Vec<Server>,
}

const NODE: [&str; 12] = [
    "--cluster-enabled",
    "yes",
    "--cluster-port",
    "BUS_PORT",
    "--cluster-node-timeout",
    "1000",
    "--cluster-require-full-coverage",
    "no",
    "--repl-diskless-sync-delay",
    "0",
    "--cluster-allow-replica-migration",
    "no",
];

impl Cluster {
    /// Starts masters, and one replica for each of them if that is wanted. A replica never takes
    /// over by itself.
    pub fn start(masters: usize, with_replicas: bool) -> Self {
        let start = |count: usize| -> Vec<Server> {
            let replica = ["--cluster-replica-no-failover", "yes"];
            let options = [&NODE[..], &replica[..]].concat();
            (0..count).map(|_| Server::start(&options)).collect()
        };
        let cluster = Cluster {
            masters: start(masters),
            replicas: start(if with_replicas { masters } else { 0 }),
        };
        for (index, node) in cluster.masters.iter().enumerate() {
            let first = index * 16_384 / masters;
            let last = (index + 1) * 16_384 / masters - 1;
            let slots = [
                "CLUSTER",
                "ADDSLOTSRANGE",
                &first.to_string(),
                &last.to_string(),
            ];
            node.call::<()>(&slots);
            node.call::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
        }
        for node in cluster.nodes().skip(1) {
            // With the port of the bus, which is no fixed distance away here.
            let bus = cluster.masters[0].call::<Vec<String>>(&["CONFIG", "GET", "cluster-port"]);
            let port = cluster.masters[0].port.to_string();
            node.call::<()>(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus[1]]);
        }
        let known = format!("cluster_known_nodes:{}", cluster.nodes().count());
        cluster.wait("a cluster", |information| {
            information.contains("cluster_state:ok") && information.contains(&known)
        });
        for (master, replica) in cluster.masters.iter().zip(&cluster.replicas) {
            let id: String = master.call(&["CLUSTER", "MYID"]);
            replica.call::<()>(&["CLUSTER", "REPLICATE", &id]);
        }
        for replica in &cluster.replicas {
            until("a replica", || {
                let information: String = replica.call(&["INFO", "replication"]);
                information.contains("master_link_status:up")
            });
        }
        cluster
    }

    fn nodes(&self) -> impl Iterator<Item = &Server> {
        self.masters.iter().chain(&self.replicas)
    }

    /// Waits until all nodes say this.
    fn wait(&self, what: &str, condition: impl Fn(&str) -> bool) {
        for node in self.nodes() {
            until(what, || {
                node.try_call::<String>(&["CLUSTER", "INFO"])
                    .is_ok_and(|it| condition(&it))
            });
        }
    }

    /// Returns the address of a store, by way of one of the masters.
    pub fn address(&self, name: &str) -> String {
        format!("redis://127.0.0.1:{}/{name}", self.masters[0].port)
    }
}

/// Waits for a condition.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "{what} takes too long");
        std::thread::sleep(Duration::from_millis(20));
    }
}
