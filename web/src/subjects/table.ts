// Tables of a subject. The text of a cell is rounded; `data-value` holds the exact number.

import { create } from '../ui/element.js';
import { MISSING, formatCount, formatDigits, formatShare } from '../ui/number-format.js';

export interface Column<Row> {
  /** The name in the command line's JSON, or one like it. */
  key: string;
  heading: string;
  value(row: Row): number | null;
  format(value: number | null): string;
}

export function counted<Row>(key: string, heading: string, value: (row: Row) => number): Column<Row> {
  return { key, heading, value, format: (count) => formatCount(count ?? 0) };
}

export function shared<Row>(
  key: string,
  heading: string,
  value: (row: Row) => number | null,
): Column<Row> {
  return { key, heading, value, format: formatShare };
}

export function measured<Row>(
  key: string,
  heading: string,
  value: (row: Row) => number | null,
): Column<Row> {
  return { key, heading, value, format: (it) => (it === null ? MISSING : formatDigits(it)) };
}

/** Returns a table that scrolls by itself if it is wide, also with the keyboard. */
export function table<Row>(
  caption: string,
  first: string,
  columns: readonly Column<Row>[],
  rows: readonly { id: string; label: Node | string; row: Row; isMarked?: boolean }[],
): HTMLElement {
  const headings = [first, ...columns.map(({ heading }) => heading)];
  const body = rows.map(({ id, label, row, isMarked }) => {
    const cells = columns.map(({ key, value, format }) => {
      const exact = value(row);
      return create('td', { 'data-column': key, 'data-value': String(exact ?? '') }, format(exact));
    });
    const attributes = { 'data-row': id, class: isMarked === true ? 'best' : '' };
    return create('tr', attributes, create('th', { scope: 'row' }, label), ...cells);
  });
  const element = create(
    'table',
    { class: 'numbers' },
    create('caption', {}, caption),
    create('thead', {}, create('tr', {}, ...headings.map((it) => create('th', { scope: 'col' }, it)))),
    create('tbody', {}, ...body),
  );
  const attributes = { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption };
  return create('div', attributes, element);
}
