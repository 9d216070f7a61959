// The section "Use these settings": commands, code, numbers and a link.

import type { Snapshot } from '../engine/run-protocol.js';
import { create, find } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import { formatBytesExactly } from '../ui/number-format.js';
import { saveText } from '../ui/save-file.js';
import type { Outcome } from '../wasm/dedupstore_wasm.js';
import { shellCommand } from './shell.js';

export interface RunSettings {
  seed: number;
  /** The command-line options for the key, one word each. */
  keyOptions: string[];
  /** The same with those for the importance of lines. */
  weightedOptions: string[];
  /** The names of the log's files, in order. */
  files: string[];
  /** What to do in a shell so that the log is there; null if it is a file of the user's. */
  preparation: string | null;
}

export class ExportView {
  readonly #section = find('export', HTMLElement);
  readonly #filter = find('export-filter', HTMLSelectElement);
  readonly #commands = find('export-commands', HTMLElement);
  readonly #code = find('export-code', HTMLElement);
  readonly #status = find('export-status', HTMLElement);
  #snapshot: Snapshot | undefined;
  #settings: RunSettings | undefined;
  /** The filter that the user has chosen; undefined for the one with the fewest errors. */
  #wanted: string | undefined;

  constructor(currentLink: () => string) {
    this.#filter.addEventListener('change', () => {
      this.#wanted = this.#filter.selectedOptions[0]?.textContent ?? undefined;
      this.#writeTexts();
    });
    const onClick = (id: string, action: () => void) =>
      find(id, HTMLButtonElement).addEventListener('click', action);
    onClick('export-copy-commands', () => this.#copy('Commands', this.#commands.textContent));
    onClick('export-copy-code', () => this.#copy('Code', this.#code.textContent));
    onClick('export-copy-link', () => {
      try {
        const link = currentLink();
        history.replaceState(null, '', link);
        void this.#copy('Link', link);
      } catch (error) {
        if (!(error instanceof InvalidInput)) {
          throw error;
        }
        this.#status.textContent = error.message;
      }
    });
    onClick('export-outcomes', () => void this.#save('results.csv', 'outcomesCsv'));
    onClick('export-curves', () => void this.#save('curves.csv', 'curvesCsv'));
  }

  /** Selects a filter from the next run on. */
  select(filter: string | undefined): void {
    this.#wanted = filter;
  }

  show(snapshot: Snapshot, settings: RunSettings): void {
    this.#section.hidden = false;
    // The texts do not depend on the numbers, which change during a run.
    const isSameRun = settings === this.#settings && this.#snapshot !== undefined;
    this.#snapshot = snapshot;
    this.#settings = settings;
    if (!isSameRun) {
      this.#fillFilters(snapshot);
    }
    const wanted = snapshot.outcomes.findIndex(({ filter }) => filter === this.#wanted);
    const index = wanted >= 0 ? wanted : (snapshot.ranking[0] ?? 0);
    if (!isSameRun || index !== this.#filter.selectedIndex) {
      this.#filter.selectedIndex = index;
      this.#writeTexts();
    }
  }

  #fillFilters(snapshot: Snapshot): void {
    const options = snapshot.outcomes.map(({ filter }, index) =>
      create('option', { value: String(index) }, filter),
    );
    this.#filter.replaceChildren(...options);
  }

  #writeTexts(): void {
    const outcome = this.#snapshot?.outcomes[this.#filter.selectedIndex];
    if (outcome !== undefined && this.#settings !== undefined) {
      this.#commands.textContent = commands(outcome, this.#settings);
      this.#code.textContent = code(outcome, this.#settings);
    }
  }

  async #save(name: string, format: 'curvesCsv' | 'outcomesCsv'): Promise<void> {
    const snapshot = this.#snapshot;
    if (snapshot !== undefined) {
      // A first visit does not need it.
      const formats = await import('./csv.js');
      saveText(name, 'text/csv', formats[format](snapshot));
    }
  }

  async #copy(what: string, text: string | null): Promise<void> {
    try {
      await navigator.clipboard.writeText(text ?? '');
      this.#status.textContent = `${what} copied.`;
    } catch {
      this.#status.textContent = `${what} not copied: the browser does not allow it.`;
    }
  }
}

function commands(outcome: Outcome, settings: RunSettings): string {
  const { seed, files } = settings;
  const options = outcome.usesImportance ? settings.weightedOptions : settings.keyOptions;
  const memory = formatBytesExactly(Math.floor(outcome.memoryBits / 8));
  const create = ['dedupstore', 'create', 'seen.dds', '--filter', outcome.filter];
  // The store records the key, so that later commands need not name it.
  create.push('--memory', memory, '--seed', String(seed), ...options);
  const filter = ['dedupstore', 'filter', 'seen.dds', ...files.map(fileArgument)];
  const commands = [create, filter].map(shellCommand);
  return [...(settings.preparation === null ? [] : [settings.preparation]), ...commands].join('\n');
}

/** A file name that is not taken for an option. */
function fileArgument(name: string): string {
  return name.startsWith('-') ? `./${name}` : name;
}

function code({ filter, memoryBits }: Outcome, { seed }: RunSettings): string {
  const memory =
    memoryBits % 8 === 0
      ? `memory("${formatBytesExactly(memoryBits / 8)}")`
      : `memory_bits(${memoryBits})`;
  return [
    'use dedupstore::SeenSet;',
    '',
    `let mut seen = SeenSet::builder("${filter}")?`,
    `    .${memory}`,
    `    .seed(${seed})`,
    '    .build()?;',
    'if seen.observe(key).is_new() {',
    '    // first occurrence',
    '}',
  ].join('\n');
}
