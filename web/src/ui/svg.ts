// Elements of drawings.

const SVG = 'http://www.w3.org/2000/svg';

export function svgElement(tag: string, attributes: Readonly<Record<string, string>>): SVGElement {
  const made = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
  return made;
}

export function svgText(
  x: number,
  y: number,
  content: string,
  attributes: Readonly<Record<string, string>>,
): SVGElement {
  const made = svgElement('text', { x: String(x), y: String(y), ...attributes });
  made.textContent = content;
  return made;
}
