//! Error messages for a filter and a memory that do not fit together.

use dedupstore::CreateError;
use dedupstore::filter::BuildError;
use dedupstore::lab::InsideError;
use dedupstore_view::{build_error_message, show_bits};

/// Formats the error with sizes in bytes. The page has no options, so none are named.
pub fn build_error(error: &BuildError) -> String {
    match error {
        BuildError::TooLarge {
            filter,
            maximum_bits,
            ..
        } => format!(
            "{filter} can use at most {} in a browser; the command line can use more",
            show_bits(*maximum_bits),
        ),
        _ => build_error_message(error),
    }
}

/// The same for a filter that is created.
pub fn create_error(error: &CreateError) -> String {
    match error {
        CreateError::Build(error) => build_error(error),
        _ => error.to_string(),
    }
}

/// The same for a filter that is watched.
pub fn inside_error(error: &InsideError) -> String {
    match error {
        InsideError::Create(error) => create_error(error),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use dedupstore::AnyFilter;

    use super::*;

    fn message(filter: &str, memory_bits: u64) -> String {
        let spec = filter.parse().expect("a filter");
        let built = AnyFilter::build(&spec, memory_bits).map(|_| ());
        build_error(&built.expect_err("this memory is impossible"))
    }

    #[test]
    fn sizes_are_given_in_bytes() {
        let text = message("blocked:k=6", 8);
        assert!(
            text.ends_with("needs at least 8 B of memory; 1 B is too little"),
            "{text}"
        );
        let text = message("bloom", u64::MAX);
        assert!(text.contains("can use at most"), "{text}");
        assert!(text.ends_with("in a browser; the command line can use more"));
    }
}
