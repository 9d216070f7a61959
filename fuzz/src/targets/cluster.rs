//! What a store on Redis is found and described by: its address, and its layout, which everybody who
//! reaches the server can overwrite.

use dedupstore_cluster::{ClusterAddress, Layout};

use super::{lossy, path_of, percent_decoded};

/// An address: its node and its name must be parsed back, and it must not show its password.
pub fn address(input: &[u8]) {
    let text = lossy(input);
    let address: ClusterAddress = match text.parse() {
        Ok(address) => address,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(!address.host.is_empty() && !address.name.is_empty());
    let name = path_of(&text).and_then(percent_decoded);
    assert_eq!(name.as_deref(), Some(address.name.as_bytes()), "{text}");
    let name: String = address
        .name
        .bytes()
        .map(|it| format!("%{it:02X}"))
        .collect();
    let scheme = if address.tls { "rediss" } else { "redis" };
    let again = format!("{scheme}://{}/{name}", address.node());
    let again: ClusterAddress = again.parse().expect("its own text form");
    assert_eq!(again.name, address.name, "{text}");
    assert_eq!(again.node(), address.node(), "{text}");
    let shown = |password: &str| {
        let mut address = address.clone();
        address.credentials.password = Some(password.to_owned());
        format!("{address:?} {address}")
    };
    assert_eq!(shown("first"), shown("second"), "the password is shown");
}

/// A layout: its text form must be parsed back.
pub fn layout(input: &[u8]) {
    match Layout::parse(&lossy(input)) {
        Ok(layout) => {
            let written = layout.to_json();
            assert_eq!(Layout::parse(&written).as_ref(), Ok(&layout), "{written}");
            assert!((1..=64).contains(&layout.cells_per_key()), "{written}");
        }
        Err(error) => assert!(!error.is_empty()),
    }
}

/// Returns valid layouts.
pub fn layout_seeds() -> Vec<Vec<u8>> {
    let layout = |filter: &str, slices: &str, recording: &str| {
        format!(
            "{{\"dedupstore\":1,\"id\":\"0000000000000abc\",\"scheme\":1,\"seed\":7,\
             \"filter\":\"{filter}\",\"memory_bits\":1048576,\"slices\":\"{slices}\",\
             \"rule\":\"new\",\"recording\":\"{recording}\",\"key\":\"line\",\
             \"created_unix_seconds\":1700000000}}"
        )
        .into_bytes()
    };
    vec![
        layout("slot:values=255", "horizontal:4", "atomic"),
        layout("bloom:k=5", "vertical:5", "claim"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_layouts() {
        for seed in layout_seeds() {
            let text = lossy(&seed);
            assert!(
                Layout::parse(&text).is_ok(),
                "{text}: {:?}",
                Layout::parse(&text)
            );
        }
    }
}
