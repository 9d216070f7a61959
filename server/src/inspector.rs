//! The thread that inspects stores by their files, beside their writers.

use std::path::PathBuf;

use dedupstore::store::{Inspection, inspect};
use dedupstore_view::{inspection_report, printable_json};
use serde_json::{Value, json};

use crate::batch::{Answer, Live, ReplyTo};
use crate::concurrency::{Builder, Sender, channel};

/// A store to inspect.
pub struct Job {
    pub reply: ReplyTo,
    pub path: PathBuf,
    pub name: String,
    pub json: bool,
    pub live: Live,
}

/// The thread, which starts with the first job.
#[derive(Default)]
pub struct Inspector {
    sender: Option<Sender<Job>>,
}

impl Inspector {
    /// Inspects a store and passes the answer to `report`.
    pub fn submit(
        &mut self,
        job: Job,
        report: impl Fn(ReplyTo, Answer) + Send + 'static,
    ) -> Result<(), ReplyTo> {
        let sender = self.sender.get_or_insert_with(|| {
            let (sender, receiver) = channel::<Job>();
            let work = move || {
                for job in receiver {
                    report(job.reply, run(&job));
                }
            };
            // If it cannot be started, the receiver is gone, and sending fails.
            let thread = Builder::new().name("dedupstore inspector".to_owned());
            let _ = thread.spawn(work);
            sender
        });
        sender.send(job).map_err(|error| {
            self.sender = None;
            error.0.reply
        })
    }
}

fn run(job: &Job) -> Answer {
    match inspect(&job.path) {
        Ok(mut inspection) => {
            set_live(&mut inspection, &job.live);
            let text = match job.json {
                true => as_json(&inspection),
                false => inspection_report(&inspection, &job.name, None, str::to_owned),
            };
            Answer::Bytes(text.into_bytes())
        }
        Err(error) => Answer::Error(format!("ERR {error}")),
    }
}

/// Replaces the figures that an open store knows better than its files.
fn set_live(inspection: &mut Inspection, live: &Live) {
    inspection.live_observations = live.observations;
    inspection.live_new = Some(live.new);
    inspection.live_seen = Some(live.seen);
    inspection.forgotten = live.forgotten;
    inspection.live_load = Some(live.load);
    inspection.live_estimated_fpr = Some(live.false_positive_rate);
    inspection.log_sequence = inspection.log_sequence.max(live.sequence);
    inspection.durable_sequence = inspection.durable_sequence.max(Some(live.durable));
}

/// The object of `dedupstore inspect --json`.
fn as_json(inspection: &Inspection) -> String {
    let mut object = json!({"schema": 1});
    if let (Some(object), Ok(Value::Object(fields))) =
        (object.as_object_mut(), serde_json::to_value(inspection))
    {
        object.extend(fields);
    }
    printable_json(&object.to_string())
}
