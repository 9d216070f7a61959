//! Planted bugs of threads, and the scenarios that find them.

use dedupstore::store::mutant::{Mutant as OfStore, plant as plant_in_store};
use dedupstore_server::mutant::{Mutant as OfServer, plant as plant_in_server};

use crate::exploration::{Found, Scenario, explore};

/// The scenario must find a bug in so many schedules.
const MOST_SCHEDULES: u64 = 10_000;

/// A bug and the scenario that must find it.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    bug: Bug,
    scenario: Scenario,
}

#[derive(Clone, Copy, Debug)]
enum Bug {
    OfStore(OfStore),
    OfServer(OfServer),
}

const fn store(bug: OfStore, scenario: Scenario) -> Planted {
    let bug = Bug::OfStore(bug);
    Planted { bug, scenario }
}

const fn server(bug: OfServer) -> Planted {
    Planted {
        bug: Bug::OfServer(bug),
        scenario: Scenario::Server,
    }
}

/// Every planted bug of threads.
pub const PLANTED: [Planted; OfStore::CONCURRENT.len() + OfServer::ALL.len()] = [
    store(OfStore::NoWaitForCopy, Scenario::OneStore),
    store(OfStore::CopyAfterRelease, Scenario::OneStore),
    store(OfStore::QueuedAfterRelease, Scenario::OneStore),
    store(OfStore::AppendedBeforeWritten, Scenario::OneStore),
    store(OfStore::WrittenAfterFailure, Scenario::Narrow),
    store(OfStore::EpochsBeforeSequence, Scenario::Narrow),
    store(OfStore::NoWakeAfterSync, Scenario::OneStore),
    store(OfStore::NoWakeAfterFailure, Scenario::OneStore),
    store(OfStore::NoWakeAfterWrite, Scenario::OneStore),
    store(OfStore::NoWakeOfLogThread, Scenario::OneStore),
    store(OfStore::NoWakeForRoom, Scenario::BlockQueue),
    store(OfStore::NoWakeAfterCheckpoint, Scenario::Narrow),
    store(OfStore::CheckedBeforeLock, Scenario::Narrow),
    store(OfStore::CheckpointSyncsAlone, Scenario::Narrow),
    store(OfStore::SyncThreadOutlivesClose, Scenario::Narrow),
    server(OfServer::AnsweredBeforeWritten),
    server(OfServer::AnsweredToSuccessor),
    server(OfServer::AnsweredByFirstStore),
    server(OfServer::NoWakeOfEventLoop),
    server(OfServer::StoppedBeforeAnswered),
];

impl Planted {
    /// Explores schedules until one finds the bug. Returns how many that took and what it found, or
    /// None if none of them does, or if the schedule fails without the bug as well.
    pub fn find(&self) -> Option<(u64, Found)> {
        let scenario = self.scenario;
        let is_of_scenario = move |&seed: &u64| Scenario::of(seed) == scenario;
        let seeds = (0..).filter(is_of_scenario).take(MOST_SCHEDULES as usize);
        match self.bug {
            Bug::OfStore(bug) => plant_in_store(Some(bug)),
            Bug::OfServer(bug) => plant_in_server(Some(bug)),
        }
        let explored = explore(seeds);
        plant_in_store(None);
        plant_in_server(None);
        let found = explored.err()?;
        explore(found.seed..found.seed + 1).ok()?;
        let before = (0..=found.seed).filter(is_of_scenario).count();
        Some((before as u64, found))
    }
}
