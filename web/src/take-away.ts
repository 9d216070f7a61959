// What a visitor takes home: commands, code, numbers, a link.

import { csvOfCurves, csvOfOutcomes } from './csv.js';
import { saveText } from './download.js';
import { find, make } from './element.js';
import { InvalidInput } from './invalid-input.js';
import { formatBytesExactly } from './number-format.js';
import type { OutcomeRow, Snapshot } from './protocol.js';

export interface Setting {
  seed: number;
  normalize: boolean;
  /** The command line's options for the key, a word each. */
  keyOptions: string[];
  log: string;
}

export class TakeAway {
  readonly #section = find('take-away', HTMLElement);
  readonly #filter = find('take-filter', HTMLSelectElement);
  readonly #command = find('take-command', HTMLElement);
  readonly #code = find('take-code', HTMLElement);
  readonly #said = find('take-said', HTMLElement);
  #snapshot: Snapshot | undefined;
  #setting: Setting | undefined;

  constructor(linkNow: () => string) {
    this.#filter.addEventListener('change', () => this.#write());
    const onClick = (id: string, act: () => void) =>
      find(id, HTMLButtonElement).addEventListener('click', act);
    onClick('take-command-copy', () => this.#copy('The commands', this.#command.textContent));
    onClick('take-code-copy', () => this.#copy('The code', this.#code.textContent));
    onClick('take-link', () => {
      try {
        const link = linkNow();
        history.replaceState(null, '', link);
        void this.#copy('The link', link);
      } catch (error) {
        if (!(error instanceof InvalidInput)) {
          throw error;
        }
        this.#said.textContent = error.message;
      }
    });
    onClick('take-outcomes', () => this.#save('results.csv', csvOfOutcomes));
    onClick('take-curves', () => this.#save('curves.csv', csvOfCurves));
  }

  show(snapshot: Snapshot, setting: Setting): void {
    this.#section.hidden = false;
    // A run's numbers change, and none of them is in what is written here.
    const isSameRun = setting === this.#setting && this.#snapshot !== undefined;
    this.#snapshot = snapshot;
    this.#setting = setting;
    if (isSameRun) {
      return;
    }
    const chosen = this.#filter.selectedIndex;
    const options = snapshot.outcomes.map(({ filter }, place) =>
      make('option', { value: String(place) }, filter),
    );
    this.#filter.replaceChildren(...options);
    this.#filter.selectedIndex = Math.min(Math.max(chosen, 0), options.length - 1);
    this.#write();
  }

  clear(): void {
    this.#section.hidden = true;
  }

  #write(): void {
    const row = this.#snapshot?.outcomes[this.#filter.selectedIndex];
    if (row !== undefined && this.#setting !== undefined) {
      this.#command.textContent = commands(row, this.#setting);
      this.#code.textContent = code(row, this.#setting);
    }
  }

  #save(name: string, csv: (snapshot: Snapshot) => string): void {
    if (this.#snapshot !== undefined) {
      saveText(name, 'text/csv', csv(this.#snapshot));
    }
  }

  async #copy(what: string, text: string | null): Promise<void> {
    try {
      await navigator.clipboard.writeText(text ?? '');
      this.#said.textContent = `${what}: copied.`;
    } catch {
      this.#said.textContent = `${what}: the browser does not let this page copy.`;
    }
  }
}

function commands(row: OutcomeRow, { seed, normalize, keyOptions, log }: Setting): string {
  const memory = formatBytesExactly(Math.floor(row.memoryBits / 8));
  const create = ['dedupstore', 'create', 'seen.dds', '--filter', row.filter];
  create.push('--memory', memory, '--seed', String(seed));
  if (normalize) {
    create.push('--normalize', 'whatwg');
  }
  const filter = ['dedupstore', 'filter', 'seen.dds', log, ...keyOptions];
  return [create, filter].map((words) => words.map(quoted).join(' ')).join('\n');
}

/** A word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function code({ filter, memoryBits }: OutcomeRow, { seed }: Setting): string {
  return [
    'use dedupstore::{FilterSpec, SeenSet, Verdict};',
    '',
    `let filter: FilterSpec = "${filter}".parse()?;`,
    `let mut seen = SeenSet::in_memory(&filter, ${memoryBits}, ${seed})?;`,
    'if seen.observe(key) == Verdict::New {',
    '    // not met before',
    '}',
  ].join('\n');
}
