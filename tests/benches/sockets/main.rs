//! Compares ways to serve many sockets: one thread with mio, tokio on one thread or on two, and a
//! thread per connection.
//!
//! All of them do the same work with the parser of `serve`: they read, parse requests with one key
//! each, observe the keys in one set in memory, and write the replies. The servers are processes of
//! their own that work in turns. Prints microseconds of processor time of the server per request and
//! requests per second, the medians of interleaved rounds.
//!
//! `cargo bench -p dedupstore-benches --bench sockets [-- CLIENTS…]`

mod servers;

#[cfg(target_os = "linux")]
mod load;

#[cfg(target_os = "linux")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [command, kind] if command == "serve" => servers::run(kind),
        clients => {
            let given = clients.iter().filter_map(|text| text.parse().ok());
            let given: Vec<usize> = given.collect();
            load::compare(if given.is_empty() {
                &[1, 50, 1000]
            } else {
                &given
            });
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this benchmark reads processor times from /proc, which only Linux has");
}
