// What the page and a worker say to each other about a filter that is looked into.

import type { KeySpec, LogPart, Pace } from '../protocol.js';

export interface InsideOrder {
  log: Blob;
  name: string;
  key: KeySpec;
  part: LogPart;
  seed: number;
  filter: string;
  memoryBits: number;
  pace: Pace;
  /** How far apart two views are, at least. */
  viewMilliseconds: number;
}

/** The filter as it is now. */
export interface InsideState {
  /** Lines that have come. */
  position: number;
  distinct: number;
  load: number;
  isPaused: boolean;
  isOver: boolean;
  anatomy: CellAnatomy;
  values: BigUint64Array;
  /** Where the key came that left what a cell holds; 0 for an empty cell. */
  leftAt: Float64Array;
  /** Where a cell last lost something; 0 if it never did. */
  lostAt: Float64Array;
  /** Where the view before this one was. */
  since: number;
  /** The last first. */
  recent: ArrivedKey[];
  dropped: MistakeList;
  missed: MistakeList;
  look: KeyLook | null;
}

export interface CellAnatomy {
  /** What a cell is called, and what those that belong together are. */
  cell: string;
  row: string;
  rowCells: number;
  /** The largest value of a cell. */
  most: bigint;
}

export interface ArrivedKey {
  id: string;
  key: string;
  position: number;
  verdict: string;
  isRight: boolean;
}

export interface MistakeList {
  count: number;
  /** The last first; not all, where there are many. */
  latest: { arrived: ArrivedKey; reason: string }[];
}

/** What decides about a key. */
export interface KeyLook {
  id: string;
  verdict: string;
  because: string;
  cells: CellLook[];
}

export interface CellLook {
  index: number;
  value: string;
  isMet: boolean;
  changedAt: number;
  left: { position: number; key: string } | null;
}
