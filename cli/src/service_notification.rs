//! Tells systemd how far a service has come: `sd_notify`, without its library.

/// Sends a state such as `READY=1`, if systemd has asked for it. A service works without.
#[cfg(unix)]
pub fn send(state: &str) {
    use std::os::unix::net::UnixDatagram;
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let Ok(socket) = UnixDatagram::unbound() else {
        return;
    };
    #[cfg(target_os = "linux")]
    if let Some(name) = path.as_encoded_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::SocketAddr;
        if let Ok(address) = SocketAddr::from_abstract_name(name) {
            let _ = socket.send_to_addr(state.as_bytes(), &address);
        }
        return;
    }
    let _ = socket.send_to(state.as_bytes(), path);
}

/// There is no systemd here.
#[cfg(not(unix))]
pub fn send(_: &str) {}
