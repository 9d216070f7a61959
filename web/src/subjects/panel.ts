// A panel about one subject: controls, a sentence, a table. It reads the log of the page by itself
// whenever the log or a control has changed, while it is open.

import { shellCommand } from '../export/shell.js';
import type { LogFiles } from '../engine/settings.js';
import { create, withCode } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import { formatBytesExactly } from '../ui/number-format.js';
import type { Subject, SubjectResult } from '../wasm/dedupstore_wasm.js';
import { SubjectClient } from './client.js';
import type { Control } from './controls.js';
import type { SubjectHost, SubjectSource } from './section.js';

/** Changes that follow each other faster than this start one run. */
const DEBOUNCE_MILLISECONDS = 120;

export interface Definition {
  /** What the subject is about. */
  intro: string;
  controls: readonly Control<unknown>[];
  /** A sample that has an answer, for logs without one. */
  sample?: { id: string; title: string };
  /** Throws InvalidInput. */
  subject(): Subject;
  /** The answer, tables below it, and the options of `dedupstore simulate` for the same numbers. */
  answer(result: SubjectResult): SubjectAnswer;
}

export interface SubjectAnswer {
  sentence: string;
  details: HTMLElement[];
  options: string[];
  /** The memory of the filters, if it is not that of the page. */
  memoryBits?: number;
}

/** There are no results of another subject. */
export const NO_ANSWER: SubjectAnswer = { sentence: '', details: [], options: [] };

export class SubjectPanel {
  readonly #definition: Definition;
  readonly #host: SubjectHost;
  readonly #client = new SubjectClient();
  readonly #status = create('p', { class: 'subject-answer', role: 'status' });
  readonly #scope = create('p', { class: 'hint' });
  readonly #output = create('div', { class: 'subject-output' });
  readonly #command = create('code');
  readonly #commandFrame = create(
    'details',
    { class: 'table-details', hidden: '' },
    create('summary', {}, 'The same numbers on the command line'),
    create('div', { class: 'snippet' }, create('pre', { tabindex: '0', 'aria-label': 'Command' }, this.#command)),
  );
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What is shown or being computed. */
  #log: LogFiles | undefined;
  #settings = '';

  constructor(root: HTMLElement, definition: Definition, host: SubjectHost) {
    this.#definition = definition;
    this.#host = host;
    const controls = create('div', { class: 'subject-controls' }, ...definition.controls.map((it) => it.element));
    controls.addEventListener('input', () => this.refresh());
    root.append(
      create('p', { class: 'hint' }, definition.intro),
      controls,
      this.#status,
      this.#scope,
      this.#output,
      this.#commandFrame,
    );
    this.refresh();
  }

  /** Runs soon if something has changed. */
  refresh(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#run(), DEBOUNCE_MILLISECONDS);
  }

  #run(): void {
    const source = this.#host.source();
    if (source === undefined) {
      this.#say('Choose a log first.');
      return;
    }
    let subject: Subject;
    try {
      subject = this.#definition.subject();
    } catch (error) {
      if (!(error instanceof InvalidInput)) {
        throw error;
      }
      this.#settings = '';
      this.#fail(error.message);
      return;
    }
    const { request, scope } = source;
    const { log, name, key, part, seed } = request;
    const memoryBits = request.filters[0]?.memoryBits ?? 0;
    const settings = JSON.stringify([key, part, seed, memoryBits, subject]);
    if (log === this.#log && settings === this.#settings) {
      return;
    }
    this.#log = log;
    this.#settings = settings;
    this.#output.ariaBusy = 'true';
    this.#client.run(
      { log, name, key, part, seed, memoryBits, subject },
      {
        reading: (share) => this.#say(`Reading ${name}: ${Math.floor(share * 100)}\u00a0%.`),
        finished: (result) => this.#show(result, source, scope),
        failed: (message) => {
          this.#fail(message);
          this.#offerSample();
        },
      },
    );
  }

  #show(result: SubjectResult, source: SubjectSource, scope: string): void {
    const answer = this.#definition.answer(result);
    this.#say(answer.sentence);
    this.#scope.textContent = scope;
    this.#output.ariaBusy = 'false';
    this.#output.replaceChildren(...answer.details);
    this.#command.textContent = commandOf(source, answer);
    this.#commandFrame.hidden = source.request.part !== 'all';
  }

  #fail(message: string): void {
    this.#say(message);
    this.#scope.textContent = '';
    this.#output.ariaBusy = 'false';
    this.#output.replaceChildren();
    this.#commandFrame.hidden = true;
  }

  #offerSample(): void {
    const { sample } = this.#definition;
    if (sample !== undefined) {
      const button = create('button', { type: 'button' }, `Show it on the sample “${sample.title}”`);
      button.addEventListener('click', () => this.#host.loadSample(sample.id));
      this.#output.append(create('p', {}, button));
    }
  }

  #say(text: string): void {
    this.#status.replaceChildren(...withCode(text));
  }
}

function commandOf({ request, keyOptions, preparation }: SubjectSource, answer: SubjectAnswer): string {
  const memoryBits = answer.memoryBits ?? request.filters[0]?.memoryBits ?? 0;
  const files = request.log.map(({ name }) => (name.startsWith('-') ? `./${name}` : name));
  const memory = ['--memory', formatBytesExactly(Math.floor(memoryBits / 8))];
  const settings = [...keyOptions, ...answer.options, ...memory, '--seed', String(request.seed)];
  const command = shellCommand(['dedupstore', 'simulate', ...files, ...settings]);
  return preparation === null ? command : `${preparation}\n${command}`;
}
