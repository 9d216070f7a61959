// Importance needs no run of its own: the results of the page are weighted if lines have one.

import { create, find } from '../ui/element.js';
import type { SubjectHost } from './section.js';

const INTRO =
  'If lines have an importance, as a link depth or a PageRank, each error weighs as much as its ' +
  'line, and filters for importance remember important keys longer. The results then also have a ' +
  'table of weighted errors and two charts of errors against importance.';

export function fillImportance(root: HTMLElement, host: SubjectHost): void {
  const sample = create('button', { type: 'button' }, 'Show it on the sample with depths');
  sample.addEventListener('click', () => host.loadSample('depths'));
  const own = create('button', { type: 'button', class: 'quiet' }, 'My lines have an importance');
  own.addEventListener('click', () => {
    const details = find('importance', HTMLDetailsElement);
    details.open = true;
    details.scrollIntoView({ block: 'center' });
    details.querySelector('summary')?.focus();
  });
  root.append(create('p', { class: 'hint' }, INTRO), create('p', { class: 'button-row' }, sample, own));
}
