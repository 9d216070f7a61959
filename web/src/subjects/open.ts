// The content of each subject.

import { growth } from './growth.js';
import { fillImportance } from './importance.js';
import { machines } from './machines.js';
import { SubjectPanel } from './panel.js';
import type { SubjectHost, SubjectName } from './section.js';
import { trees } from './trees.js';
import { windows } from './windows.js';

/** Fills a panel; null if it runs nothing by itself. */
export function openSubject(
  name: SubjectName,
  root: HTMLElement,
  host: SubjectHost,
): SubjectPanel | null {
  if (root.childElementCount > 0) {
    return null;
  }
  if (name === 'importance') {
    fillImportance(root, host);
    return null;
  }
  const definitions = { windows, machines, trees, growth };
  return new SubjectPanel(root, definitions[name](), host);
}
