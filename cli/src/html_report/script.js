'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const SVG = 'http://www.w3.org/2000/svg';
const COLORS = 8;
const DASHES = ['', '7 3', '2 3', '9 3 2 3'];
const MARKERS = ['M-4 -4H4V4H-4Z', 'M0 -5L5 4H-5Z', 'M0 -5L5 0L0 5L-5 0Z', 'M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0'];
/* The width follows the window, so that the text keeps its size. */
const FRAME = { width: 900, height: 280, left: 74, right: 12, top: 10, bottom: 30 };
const BEST = 5;

const grouped = (n) => n.toLocaleString('en-GB');
const plural = (n, noun) => `${grouped(n)} ${noun}${n === 1 ? '' : 's'}`;
const percent = (share) =>
  share === null ? '–' : share === 0 ? '0 %' : `${Number((100 * share).toPrecision(3))} %`;
const size = (bits) => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bits / 8;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number(value.toFixed(2))} ${units[unit]}`;
};
const find = (id) => document.getElementById(id);
const element = (name, attributes = {}, ...children) => {
  const made = name.startsWith('svg:')
    ? document.createElementNS(SVG, name.slice(4))
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const METRICS = {
  total: { of: ({ fp, fn, count }) => (count === 0 ? null : (fp + fn) / count), name: 'wrong verdicts' },
  fpr: { of: ({ fpr }) => fpr, name: 'new keys dropped' },
  fnr: { of: ({ fnr }) => fnr, name: 'repeats let through' },
};
const CURVES = [
  { column: 1, title: 'New keys dropped', note: 'share of the new keys in each interval (FPR)' },
  { column: 2, title: 'Repeats let through', note: 'share of the repeats in each interval (FNR)' },
  { column: 3, title: 'Load', note: 'share of the cells in use' },
];
const IMPORTANCE_CURVES = [
  { rate: 'i_fn', title: 'Repeats let through, by importance', note: 'share of all keys of the importance' },
  { rate: 'i_fp', title: 'New keys dropped, by importance', note: 'share of all keys of the importance' },
];

const runs = data.runs;
const isWeighted = runs.some((run) => run.summary.importance.length > 0);
const errors = (run) => run.summary.fp + run.summary.fn;
const memories = [...new Set(runs.map((run) => run.summary.memory_bits))].sort((a, b) => a - b);

/* One entry per filter. Its color follows from its name, so that it is the same in every report;
   other parameters of the same filter have another marker. */
const filters = [];
for (const run of runs) {
  let filter = filters.find(({ name }) => name === run.summary.filter);
  if (filter === undefined) {
    const variant = filters.filter(({ family }) => family === run.family).length;
    filter = {
      name: run.summary.filter,
      family: run.family,
      color: `var(--color-${run.family % COLORS})`,
      dash: DASHES[Math.floor(run.family / COLORS) % DASHES.length],
      marker: MARKERS[variant % MARKERS.length],
      shown: true,
      runs: [],
    };
    filters.push(filter);
  }
  filter.runs.push(run);
}
const runIn = (filter, memory) => filter.runs.find((run) => run.summary.memory_bits === memory);

/* Fades the lines of all other filters; null fades none. Nothing is drawn again, so that a value
   that is being read stays. */
function highlight(filter) {
  for (const line of document.querySelectorAll('.chart [data-filter]')) {
    line.classList.toggle('faded', filter !== null && line.dataset.filter !== filter.name);
  }
}

function series(filter, path) {
  return element('svg:path', {
    class: 'series',
    'data-filter': filter.name,
    d: path,
    style: `stroke: ${filter.color}`,
    'stroke-dasharray': filter.dash,
  });
}

function marker(filter, x, y) {
  return element('svg:path', {
    'data-filter': filter.name,
    d: filter.marker,
    transform: `translate(${x} ${y})`,
    style: `fill: ${filter.color}`,
  });
}

/* The smallest of 1, 2, 5, 10, 20, … that is not below the value. */
function nice(value) {
  if (!(value > 0)) return 1e-6;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

/* A chart with its axes. `xTicks` are pairs of a position from 0 to 1 and a text, `yTicks` pairs
   of a share of the height and a text. */
function frame(label, xTicks, yTicks) {
  const { width, height, left, right, top, bottom } = FRAME;
  const x = (share) => left + (width - left - right) * share;
  const y = (share) => top + (height - top - bottom) * (1 - share);
  const svg = element('svg:svg', {
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    tabindex: '0',
    'aria-label': `${label}. Use the arrow keys to read values.`,
  });
  for (const [share, text] of yTicks) {
    svg.append(
      element('svg:line', { class: 'grid', x1: left, x2: width - right, y1: y(share), y2: y(share) }),
      element('svg:text', { x: left - 8, y: y(share) + 4, 'text-anchor': 'end' }, text),
    );
  }
  for (const [share, text] of xTicks) {
    const anchor = share < 0.05 ? 'start' : share > 0.95 ? 'end' : 'middle';
    svg.append(element('svg:text', { x: x(share), y: height - 8, 'text-anchor': anchor }, text));
  }
  return { svg, x, y };
}

/* Lets the pointer and the arrow keys read the chart: `positions` are shares of the width. */
function readable({ svg, x }, positions, describe) {
  const { top, height, bottom, left, right, width } = FRAME;
  const readout = element('output', { 'aria-live': 'polite' });
  const cursor = element('svg:line', { class: 'grid', y1: top, y2: height - bottom, visibility: 'hidden' });
  svg.append(cursor);
  let at = -1;
  const read = (index) => {
    if (positions.length === 0) return;
    at = Math.max(0, Math.min(positions.length - 1, index));
    cursor.setAttribute('x1', x(positions[at]));
    cursor.setAttribute('x2', x(positions[at]));
    cursor.setAttribute('visibility', 'visible');
    readout.textContent = describe(at);
  };
  svg.addEventListener('pointermove', (event) => {
    const box = svg.getBoundingClientRect();
    const wanted = (((event.clientX - box.left) / box.width) * width - left) / (width - left - right);
    const distances = positions.map((position) => Math.abs(position - wanted));
    read(distances.indexOf(Math.min(...distances)));
  });
  svg.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    read(at + step);
  });
  return readout;
}

function describeValues(values) {
  const known = values.filter(({ value }) => value !== null).sort((a, b) => a.value - b.value);
  return known.map(({ filter, value }) => `${filter.name}: ${percent(value)}`).join('; ');
}

/* Rates over memory, both on logarithmic axes. A rate of 0 is drawn on the lowest line. */
function memoryChart() {
  const metric = METRICS[find('metric').value];
  const shown = filters.filter((filter) => filter.shown);
  const values = shown.flatMap((filter) => filter.runs.map((run) => metric.of(run.summary)));
  const rates = values.filter((value) => value > 0);
  const high = Math.ceil(Math.log10(Math.max(1e-6, ...rates)));
  const low = Math.min(high - 1, Math.floor(Math.log10(Math.min(1, ...rates)) - 0.3));
  const yOf = (value) => (value > 0 ? Math.max(0, (Math.log10(value) - low) / (high - low)) : 0);
  const [least, most] = [memories[0], memories.at(-1)].map(Math.log2);
  const xOf = (bits) => (most > least ? 0.04 + (0.92 * (Math.log2(bits) - least)) / (most - least) : 0.5);
  const yTicks = Array.from({ length: high - low + 1 }, (_, i) => [
    i / (high - low),
    i === 0 ? '0 %' : percent(10 ** (low + i)),
  ]);
  const chart = frame(
    `Share of ${metric.name} by memory`,
    memories.map((bits) => [xOf(bits), size(bits)]),
    yTicks,
  );
  for (const filter of shown) {
    const points = memories.flatMap((bits) => {
      const run = runIn(filter, bits);
      const value = run === undefined ? null : metric.of(run.summary);
      return value === null ? [] : [[chart.x(xOf(bits)).toFixed(1), chart.y(yOf(value)).toFixed(1)]];
    });
    chart.svg.append(series(filter, points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join('')));
    chart.svg.append(...points.map(([x, y]) => marker(filter, x, y)));
  }
  const readout = readable(chart, memories.map(xOf), (at) => {
    const bits = memories[at];
    const values = shown.flatMap((filter) => {
      const run = runIn(filter, bits);
      return run === undefined ? [] : [{ filter, value: metric.of(run.summary) }];
    });
    return `${size(bits)}: ${describeValues(values)}`;
  });
  find('by-memory').replaceChildren(element('div', { class: 'chart' }, chart.svg, readout));
}

function curveChart({ column, title, note }) {
  const memory = Number(find('memory').value);
  const shown = filters.filter((filter) => filter.shown && runIn(filter, memory) !== undefined);
  const curves = shown.map((filter) => ({ filter, curve: runIn(filter, memory).curve }));
  const top = nice(Math.max(0, ...curves.flatMap(({ curve }) => curve.map((point) => point[column] ?? 0))));
  const last = Math.max(1, ...runs.map((run) => run.summary.count));
  const quarters = [0, 1, 2, 3, 4].map((i) => i / 4);
  const xShares = FRAME.width < 600 ? [0, 0.5, 1] : quarters;
  const chart = frame(
    `${title}, ${note}, by position in the stream`,
    xShares.map((share) => [share, grouped(Math.round(last * share))]),
    quarters.map((share) => [share, percent(top * share)]),
  );
  for (const { filter, curve } of curves) {
    let pen = 'M';
    let path = '';
    for (const point of curve) {
      if (point[column] === null) {
        pen = 'M';
      } else {
        path += `${pen}${chart.x(point[0] / last).toFixed(1)} ${chart.y(point[column] / top).toFixed(1)}`;
        pen = 'L';
      }
    }
    chart.svg.append(series(filter, path));
  }
  const positions = (curves[0]?.curve ?? []).map((point) => point[0]);
  const readout = readable(
    chart,
    positions.map((position) => position / last),
    (at) => {
      const values = curves.map(({ filter, curve }) => ({ filter, value: curve[at]?.[column] ?? null }));
      return `up to key ${grouped(positions[at])}: ${describeValues(values)}`;
    },
  );
  return element(
    'div',
    { class: 'chart' },
    element('h3', {}, title),
    element('p', {}, note),
    chart.svg,
    readout,
  );
}

function importanceChart({ rate, title, note }) {
  const memory = Number(find('memory').value);
  const shown = filters.filter((filter) => filter.shown && runIn(filter, memory) !== undefined);
  const curves = shown.map((filter) => ({ filter, rates: runIn(filter, memory).summary.importance }));
  const groups = runs[0].summary.importance;
  const [first, last] = [groups[0].from, groups.at(-1).to];
  const xOf = ({ from, to }) => ((from + to) / 2 - first) / Math.max(1, last - first);
  const top = nice(Math.max(0, ...curves.flatMap(({ rates }) => rates.map((it) => it[rate]))));
  const chart = frame(
    `${title}, ${note}`,
    [0, 0.25, 0.5, 0.75, 1].map((share) => [share, grouped(Math.round(first + (last - first) * share))]),
    [0, 0.25, 0.5, 0.75, 1].map((share) => [share, percent(top * share)]),
  );
  for (const { filter, rates } of curves) {
    const point = (it, i) =>
      `${i === 0 ? 'M' : 'L'}${chart.x(xOf(it)).toFixed(1)} ${chart.y(it[rate] / top).toFixed(1)}`;
    chart.svg.append(series(filter, rates.map(point).join('')));
  }
  const readout = readable(chart, groups.map(xOf), (at) => {
    const { from, to } = groups[at];
    const values = curves.map(({ filter, rates }) => ({ filter, value: rates[at]?.[rate] ?? null }));
    return `importance ${from === to ? from : `${from} to ${to}`}: ${describeValues(values)}`;
  });
  return element(
    'div',
    { class: 'chart' },
    element('h3', {}, title),
    element('p', {}, note),
    chart.svg,
    readout,
  );
}

function draw() {
  FRAME.width = Math.max(280, find('by-memory').clientWidth);
  memoryChart();
  find('charts').replaceChildren(...CURVES.map(curveChart));
  if (isWeighted) find('importance-charts').replaceChildren(...IMPORTANCE_CURVES.map(importanceChart));
}

function show(isShown) {
  for (const filter of filters) {
    filter.shown = isShown(filter);
    filter.box.checked = filter.shown;
  }
  draw();
}

/* The filters that are among the best of any memory, the best of the largest first. */
function bestFilters() {
  const best = [];
  for (let rank = 0; rank < filters.length && best.length < BEST; rank += 1) {
    for (const memory of memories.toReversed()) {
      const inMemory = filters.filter((filter) => runIn(filter, memory) !== undefined);
      const sorted = inMemory.sort((a, b) => errors(runIn(a, memory)) - errors(runIn(b, memory)));
      if (rank < sorted.length && !best.includes(sorted[rank]) && best.length < BEST) {
        best.push(sorted[rank]);
      }
    }
  }
  return best;
}

function fillLegend() {
  for (const filter of filters) {
    filter.box = element('input', { type: 'checkbox' });
    filter.box.addEventListener('change', () => {
      filter.shown = filter.box.checked;
      draw();
    });
    const swatch = element('svg:svg', { viewBox: '0 0 36 12', 'aria-hidden': 'true' });
    swatch.append(series(filter, 'M1 6H35'), marker(filter, 18, 6));
    const item = element('li', {}, element('label', {}, filter.box, swatch, filter.name));
    item.addEventListener('pointerenter', () => highlight(filter));
    item.addEventListener('pointerleave', () => highlight(null));
    find('legend').append(item);
  }
}

function fillTable() {
  const COLUMNS = [
    ['filter', (run) => run.summary.filter],
    ['memory', (run) => size(run.summary.memory_bits)],
    ['wrong', (run) => grouped(errors(run))],
    ['new dropped', (run) => grouped(run.summary.fp)],
    ['FPR', (run) => percent(run.summary.fpr)],
    ['repeats passed', (run) => grouped(run.summary.fn)],
    ['FNR', (run) => percent(run.summary.fnr)],
    ['load', (run) => percent(run.summary.load)],
  ];
  if (runs.some((run) => run.summary.slices !== undefined)) {
    const perKey = (name, digits) => (run) => run.summary[name]?.toFixed(digits) ?? '–';
    COLUMNS.push(
      ['unknown', (run) => grouped(run.summary.unknown)],
      ['tests per key', perKey('messages_test', 3)],
      ['sets per key', perKey('messages_set', 3)],
      ['bits per key', perKey('bits', 1)],
      ['fairness', perKey('fairness', 3)],
      ['hottest site', (run) => percent(run.summary.hottest)],
    );
  }
  if (isWeighted) {
    COLUMNS.push(
      ['weighted FP', (run) => percent(run.summary.wfp)],
      ['weighted FN', (run) => percent(run.summary.wfn)],
      ['crossover', (run) => run.summary.crossover ?? 'none'],
    );
  }
  const header = COLUMNS.map(([title]) => element('th', { scope: 'col' }, title));
  const sorted = runs.toSorted(
    (a, b) => a.summary.memory_bits - b.summary.memory_bits || errors(a) - errors(b),
  );
  const rows = sorted.map((run) => element('tr', {}, ...COLUMNS.map(([, cell]) => element('td', {}, cell(run)))));
  find('results').append(element('tr', {}, ...header), ...rows);
}

function answer() {
  const best = runs.toSorted((a, b) => errors(a) - errors(b) || a.summary.memory_bits - b.summary.memory_bits)[0];
  const { filter, memory_bits: bits, fp, fn } = best.summary;
  return `Fewest errors: ${filter} in ${size(bits)}. It drops ${plural(fp, 'new key')} and lets ${plural(fn, 'repeat')} through.`;
}

find('title').textContent = data.stream;
if (runs.length === 0) {
  find('facts').textContent = 'No filter was run.';
} else {
  const { count, distinct, repeats } = runs[0].summary;
  find('facts').textContent = `${plural(count, 'key')}, ${grouped(distinct)} distinct, ${plural(repeats, 'repeat')}`;
  find('answer').textContent = answer();
  find('importance').hidden = !isWeighted;
  find('memory').append(...memories.map((bits) => element('option', { value: bits }, size(bits))));
  find('memory').value = memories.at(-1);
  addEventListener('resize', () => {
    if (find('by-memory').clientWidth !== FRAME.width) draw();
  });
  for (const id of ['metric', 'memory']) find(id).addEventListener('change', draw);
  find('show-all').addEventListener('click', () => show(() => true));
  find('show-none').addEventListener('click', () => show(() => false));
  find('show-best').addEventListener('click', () => {
    const best = bestFilters();
    show((filter) => best.includes(filter));
  });
  fillLegend();
  fillTable();
  const best = bestFilters();
  show((filter) => filters.length <= BEST + 3 || best.includes(filter));
}
