// Creates SVG elements.

const SVG = 'http://www.w3.org/2000/svg';

export function svgElement(tag: string, attributes: Readonly<Record<string, string>>): SVGElement {
  const element = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  return element;
}

export function svgText(
  x: number,
  y: number,
  content: string,
  attributes: Readonly<Record<string, string>>,
): SVGElement {
  const element = svgElement('text', { x: String(x), y: String(y), ...attributes });
  element.textContent = content;
  return element;
}
