//! Shell completions.

use std::process::Command;

use crate::DEDUPSTORE;
use crate::run_command::run;

#[test]
fn completions_offer_every_filter_with_its_parameters() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell], b"").stdout;
        let script = String::from_utf8(script)
            .expect("text")
            .replace("\\:", ":")
            .replace("\\,", ",");
        for descriptor in dedupstore::registry() {
            let spec = dedupstore::FilterSpec::with_defaults(descriptor).to_string();
            assert!(script.contains(&spec), "{shell} does not offer {spec}");
        }
        assert!(script.contains("whatwg"), "{shell}");
    }
}

/// As a user who types `dedupstore filter --filter blo` and the tab key.
#[test]
fn bash_completes_the_name_of_a_filter() {
    let script = "eval \"$(\"$0\" completions bash)\"
        COMP_WORDS=(dedupstore \"$1\" \"$2\" \"$3\"); COMP_CWORD=3
        _dedupstore dedupstore \"$3\" \"$2\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let complete = |words: [&str; 3]| {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", script, DEDUPSTORE]).args(words);
        let Ok(output) = bash.output() else {
            // No bash here.
            return None;
        };
        Some(String::from_utf8(output.stdout).expect("text"))
    };
    for (words, offered) in [
        (
            ["filter", "--filter", "blo"],
            "bloom:k=4,layout=shared\nblocked:k=6,cap=85\n",
        ),
        (["create", "-f", "rlb"], "rlbsbf:k=2\n"),
        (["simulate", "--filter", "al"], "all\n"),
        (["filter", "--normalize", "c"], "crawl\n"),
    ] {
        if let Some(found) = complete(words) {
            assert_eq!(found, offered, "{words:?}");
        }
    }
}
