//! Ends idle connections, and the server.

use std::sync::atomic::Ordering;

use super::{DRAIN_TIME, EventLoop};
use crate::concurrency::now;
use crate::connection::Connection;
use crate::mutant::{Mutant, planted};
use crate::stores::State;

impl EventLoop {
    /// Closes connections that were idle for too long.
    pub(super) fn sweep(&mut self) {
        let now = now();
        self.swept = now;
        let Some(limit) = self.settings.limits.idle else {
            return;
        };
        for number in 0..self.connections.len() {
            let is_idle = |connection: &Connection| {
                now.duration_since(connection.active) > limit
                    && !connection.session.is_waiting()
                    && connection.parking.store.is_none()
            };
            let place = &mut self.connections[number];
            if place.as_deref().is_some_and(is_idle)
                && let Some(connection) = place.take()
            {
                self.close(number, connection);
            }
        }
    }

    pub(super) fn stop(&mut self) {
        if self.stopping.is_none() {
            self.stopping = Some(now() + DRAIN_TIME);
            self.counters.ready.store(false, Ordering::Release);
            self.listeners.clear();
            (self.settings.log)("stopping", &[]);
            (0..self.connections.len()).for_each(|number| self.enqueue(number));
        }
    }

    /// Goes on with stopping; returns whether everything is closed.
    pub(super) fn drain(&mut self) -> bool {
        let is_late = self.stopping.is_some_and(|end| now() >= end);
        for number in 0..self.connections.len() {
            let is_done = |connection: &Connection| {
                let session = &connection.session;
                let waits = session.is_waiting() || connection.parking.store.is_some();
                if planted(Mutant::StoppedBeforeAnswered) && waits {
                    return true;
                }
                !waits && !session.has_replies() && connection.output.is_empty()
            };
            let place = &mut self.connections[number];
            if place.as_deref().is_some_and(|it| is_late || is_done(it))
                && let Some(connection) = place.take()
            {
                self.close(number, connection);
            }
        }
        let no_clients = self.connections.iter().all(Option::is_none);
        if no_clients && !std::mem::replace(&mut self.closing_stores, no_clients) {
            for store in self.stores.all().filter(|it| it.state == State::Open) {
                store.close(false);
            }
        }
        no_clients && self.stores.is_empty()
    }
}
