//! What the event loop does with messages of other threads.

use std::sync::Arc;

use super::{EventLoop, Message};
use crate::batch::{Answer, Batch, Kind, Other, ReplyTo};
use crate::command::Parking;
use crate::connection::Connection;
use crate::inspector::Job;
use crate::mutant::{Mutant, planted};
use crate::store_thread::{FromStore, OpenedStore};
use crate::stores::{ServedStore, State};

impl EventLoop {
    pub(super) fn handle(&mut self, message: Message) {
        match message {
            Message::Stop => self.stop(),
            Message::Checkpoint => {
                let nobody = ReplyTo {
                    connection: usize::MAX,
                    serial: 0,
                    slot: 0,
                };
                for store in self.stores.all().filter(|it| it.state == State::Open) {
                    store.push(nobody, Kind::Other(Other::Checkpoint), 0);
                }
            }
            Message::Inspected(reply, answer) => {
                if let Some(connection) = self.connection(reply) {
                    connection.session.set_answer(reply.slot, answer);
                    connection.session.arrived(None);
                }
                self.enqueue(reply.connection);
            }
            Message::Store(number, FromStore::Answered(batch, live)) => {
                if let (Some(live), Some(store)) = (live, self.stores.get(number)) {
                    self.counters.set_store(&store.name, live);
                }
                self.answered(number, batch);
            }
            Message::Store(number, FromStore::Opened(opened)) => self.opened(number, *opened),
            Message::Store(number, FromStore::Closed { deleted, result }) => {
                self.closed(number, deleted, result);
            }
        }
    }

    fn connection(&mut self, reply: ReplyTo) -> Option<&mut Box<Connection>> {
        let connection = self.connections.get_mut(reply.connection)?.as_mut()?;
        let is_same = connection.serial == reply.serial || planted(Mutant::AnsweredToSuccessor);
        is_same.then_some(connection)
    }

    /// Distributes the results of a batch.
    fn answered(&mut self, number: usize, mut batch: Box<Batch>) {
        let mut from = 0;
        let mut answers = std::mem::take(&mut batch.answers).into_iter();
        for operation in &batch.operations {
            let to = from + operation.keys as usize;
            let answer = match operation.kind {
                Kind::Other(_) => answers.next(),
                _ => None,
            };
            let (reply, name, path) = match self.stores.get(number) {
                Some(store) => (operation.reply, &store.name, &store.path),
                None => break,
            };
            if let Some(Answer::Inspect { json, live }) = answer {
                let job = Job {
                    reply,
                    path: path.clone(),
                    name: String::from_utf8_lossy(name).into_owned(),
                    json,
                    live,
                };
                let (sender, waker) = (self.sender.clone(), Arc::clone(&self.waker));
                let report = move |reply, answer| {
                    let _ = sender.send(Message::Inspected(reply, answer));
                    let _ = waker.wake();
                };
                if let Err(reply) = self.inspector.submit(job, report) {
                    let failed = Answer::Error("ERR cannot start a thread".to_owned());
                    let _ = self.sender.send(Message::Inspected(reply, failed));
                }
            } else if let Some(connection) = self.connection(reply) {
                match answer {
                    Some(answer) => connection.session.set_answer(reply.slot, answer),
                    None => {
                        let outcomes = connection.session.outcomes_of(reply.slot);
                        if outcomes.len() == to - from {
                            outcomes.copy_from_slice(&batch.outcomes[from..to]);
                        }
                    }
                }
                connection.session.arrived(batch.failure.as_deref());
                self.enqueue(reply.connection);
            }
            from = to;
        }
        if let Some(failure) = &batch.failure {
            let store = self.stores.get(number);
            let name = store.map_or_else(String::new, |it| it.name.escape_ascii().to_string());
            let fields = [("store", name), ("error", failure.clone())];
            (self.settings.log)("request failed", &fields);
        }
        batch.clear();
        if let Some(store) = self.stores.get(number) {
            store.spare = Some(batch);
        }
    }

    pub(super) fn opened(&mut self, number: usize, opened: Result<OpenedStore, String>) {
        let name = |store: &ServedStore| store.name.escape_ascii().to_string();
        match opened {
            Ok(opened) => {
                let Some(store) = self.stores.get(number) else {
                    return;
                };
                store.set_opened(&opened);
                self.counters.set_store(&store.name, opened.live);
                let event = match opened.created {
                    true => "created",
                    false => "opened",
                };
                let fields = [
                    ("store", name(store)),
                    ("path", store.path.display().to_string()),
                    ("filter", opened.parameters.filter.clone()),
                    ("memory_bits", opened.parameters.memory_bits.to_string()),
                    ("recovered", opened.recovered.to_string()),
                ];
                (self.settings.log)(event, &fields);
                let store_name = store.name.clone();
                let parked = std::mem::take(&mut store.parked);
                if self.closing_stores {
                    store.close(false);
                }
                self.resume(parked, |parking| {
                    if parking.creates {
                        parking.created = Some(store_name.clone());
                    }
                });
            }
            Err(message) => {
                if let Some(store) = self.stores.get(number) {
                    let fields = [("store", name(store)), ("error", message.clone())];
                    (self.settings.log)("cannot open", &fields);
                }
                let parked = self.stores.remove(number);
                self.resume(parked, |parking| {
                    parking.failure = Some(format!("ERR {message}"));
                });
            }
        }
    }

    fn closed(&mut self, number: usize, deleted: bool, result: Result<(), String>) {
        if let Some(store) = self.stores.get(number) {
            let name = store.name.clone();
            self.counters.remove_store(&name);
            let event = if deleted { "deleted" } else { "closed" };
            let mut fields = vec![("store", name.escape_ascii().to_string())];
            fields.extend(result.clone().err().map(|error| ("error", error)));
            (self.settings.log)(event, &fields);
        }
        match &result {
            Ok(()) => self.summary.stores += 1,
            Err(message) => self.summary.failures.push(message.clone()),
        }
        let parked = self.stores.remove(number);
        self.resume(parked, |parking| {
            if parking.creates {
                // It was closed for this connection, by DEL.
                parking.deleted += i64::from(deleted);
                parking.failure = result.as_ref().err().map(|error| format!("ERR {error}"));
            }
        });
    }

    /// Lets connections go on that waited for a store.
    fn resume(&mut self, parked: Vec<usize>, set: impl Fn(&mut Parking)) {
        for number in parked {
            if let Some(Some(connection)) = self.connections.get_mut(number) {
                set(&mut connection.parking);
                connection.parking.store = None;
                connection.parking.creates = false;
            }
            self.enqueue(number);
        }
    }
}
