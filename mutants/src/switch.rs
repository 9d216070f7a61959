//! Decides which mutant is on: the number in the variable MUTANT. In a traced run, notes instead
//! which switches are reached, in the file that the variable MUTANTS_REACHED names.
//!
//! The copy of the engine contains this file; the program that makes the copy does not use it.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const UNKNOWN: usize = usize::MAX;
const TRACED: usize = usize::MAX - 1;
const NONE: usize = usize::MAX - 2;

/// The number of the mutant, or one of the values above.
static CHOSEN: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// The switches that a traced run has noted.
static REACHED: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];

/// Whether a mutant is on.
#[inline]
pub(crate) fn is_on(number: usize) -> bool {
    let chosen = CHOSEN.load(Ordering::Relaxed);
    chosen == number || (chosen >= TRACED && look(number))
}

#[cold]
fn look(number: usize) -> bool {
    let file = std::env::var_os("MUTANTS_REACHED");
    let text = std::env::var("MUTANT").ok();
    let chosen = match (&file, text.and_then(|text| text.parse().ok())) {
        (_, Some(chosen)) => chosen,
        (Some(_), None) => TRACED,
        (None, None) => NONE,
    };
    CHOSEN.store(chosen, Ordering::Relaxed);
    if let (TRACED, Some(file)) = (chosen, file)
        && !REACHED[number].swap(true, Ordering::Relaxed)
    {
        // A switch that is not noted makes its mutant a survivor, which a later run would show.
        let opened = OpenOptions::new().create(true).append(true).open(file);
        let _ = opened.and_then(|mut file| file.write_all(format!("{number}\n").as_bytes()));
    }
    chosen == number
}
