//! Threads that wait for work.

/// A number of threads, of which the caller's is one.
#[derive(Debug)]
pub(crate) struct Workers {
    others: Option<rayon::ThreadPool>,
    count: usize,
}

impl Workers {
    /// Starts `count` − 1 threads; fewer than two mean no thread. Returns one thread, the caller's,
    /// if the system refuses to start others.
    pub fn start(count: usize) -> Self {
        let others = rayon::ThreadPoolBuilder::new()
            .num_threads(count.saturating_sub(1))
            .thread_name(|index| format!("observe {}", index + 1));
        let others = (count > 1).then(|| others.build().ok()).flatten();
        let started = others.as_ref().map_or(0, |it| it.current_num_threads());
        Workers {
            others,
            count: 1 + started,
        }
    }

    /// Returns the number of threads, the caller's included.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Does all tasks, at most one per thread at a time, and returns when they are done. The
    /// calling thread does the first one.
    pub fn run<T: Send>(&self, tasks: impl IntoIterator<Item = T>, work: impl Fn(T) + Sync) {
        let mut tasks = tasks.into_iter();
        let Some(first) = tasks.next() else {
            return;
        };
        if let Some(others) = &self.others {
            let work = &work;
            return others.in_place_scope(|scope| {
                for task in tasks {
                    scope.spawn(move |_| work(task));
                }
                work(first);
            });
        }
        work(first);
        tasks.for_each(work);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn every_task_is_done_once() {
        for threads in 0..5 {
            let workers = Workers::start(threads);
            assert_eq!(workers.count(), threads.max(1));
            for tasks in [0, 1, 3, 20] {
                let sum = AtomicU64::new(0);
                workers.run(0..tasks, |task: u64| {
                    sum.fetch_add(1 + task, Ordering::Relaxed);
                });
                assert_eq!(sum.into_inner(), tasks * (tasks + 1) / 2);
            }
        }
    }
}
