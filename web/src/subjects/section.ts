// Further subjects of a log. Each loads its content when it is opened: a first visit does not need
// it.

import type { RunRequest } from '../engine/run-protocol.js';
import { create, find } from '../ui/element.js';
import type { SubjectPanel } from './panel.js';

export interface SubjectSource {
  /** The run that is shown. */
  request: RunRequest;
  /** What it is about, in words. */
  scope: string;
  /** The command-line options for the key. */
  keyOptions: string[];
  /** What to do in a shell so that the log is there; null if it is a file of the user's. */
  preparation: string | null;
}

export interface SubjectHost {
  /** The run that is shown; undefined if there is none. */
  source(): SubjectSource | undefined;
  /** Loads a sample log by its id. */
  loadSample(id: string): void;
}

export type SubjectName = 'windows' | 'machines' | 'trees' | 'growth' | 'importance';

const TITLES: Readonly<Record<SubjectName, string>> = {
  windows: 'What is forgotten if a filter remembers only a week?',
  importance: 'What if some keys matter more than others?',
  growth: 'What if the crawl grows beyond its plan?',
  machines: 'What if the filter is on many machines, and some fail?',
  trees: 'What if each site asks a filter nearby first?',
};

export class SubjectSection {
  readonly #host: SubjectHost;
  readonly #panels: { details: HTMLDetailsElement; panel: SubjectPanel }[] = [];

  constructor(host: SubjectHost) {
    this.#host = host;
    const section = find('subjects', HTMLElement);
    for (const name of Object.keys(TITLES) as SubjectName[]) {
      const content = create('div');
      const details = create('details', { class: 'subject', id: `subject-${name}` });
      details.append(create('summary', {}, create('h4', {}, TITLES[name])), content);
      details.addEventListener('toggle', () => void this.#open(name, details, content));
      section.append(details);
    }
  }

  /** The results on the page have changed. */
  refresh(): void {
    this.#panels.filter(({ details }) => details.open).forEach(({ panel }) => panel.refresh());
  }

  async #open(name: SubjectName, details: HTMLDetailsElement, content: HTMLElement): Promise<void> {
    if (!details.open) {
      return;
    }
    const known = this.#panels.find((it) => it.details === details);
    if (known !== undefined) {
      known.panel.refresh();
    } else if (content.childElementCount === 0) {
      const { openSubject } = await import('./open.js');
      const panel = openSubject(name, content, this.#host);
      if (panel !== null) {
        this.#panels.push({ details, panel });
      }
    }
  }
}
