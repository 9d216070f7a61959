//! Divides work among all processors.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// An error of any thread.
pub type AnyError = Box<dyn Error + Send + Sync>;

/// Calls `work` for every item, in threads, and in about the order of the items. `work` also gets the
/// number of its thread. After an error no more items are started, and the first error is returned.
pub fn for_each<T: Sync>(
    items: &[T],
    work: impl Fn(usize, &T) -> Result<(), AnyError> + Sync,
) -> Result<(), AnyError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (work, next, failed) = (&work, &next, &failed);
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = work(thread, item) {
                        next.store(items.len(), Ordering::Relaxed);
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.get_or_insert(error);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_until_one_fails() {
        let items: Vec<usize> = (1..=100).collect();
        let sum = AtomicUsize::new(0);
        let add = |_, item: &usize| {
            sum.fetch_add(*item, Ordering::Relaxed);
            Ok(())
        };
        for_each(&items, add).expect("no error");
        assert_eq!(sum.into_inner(), 5050);
        let started = AtomicUsize::new(0);
        let fail = |_, item: &usize| {
            started.fetch_add(1, Ordering::Relaxed);
            match item {
                7 => Err("seven".into()),
                _ => Ok(()),
            }
        };
        let error = for_each(&items, fail).expect_err("an error");
        assert_eq!(error.to_string(), "seven");
        assert!(started.into_inner() >= 7);
    }
}
