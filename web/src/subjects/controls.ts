// Inputs of a subject, each with its label.

import { create, uniqueId } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';

/** An input and its label, and how to read it. */
export interface Control<Value> {
  element: HTMLElement;
  /** Throws InvalidInput. */
  value(): Value;
}

export function numberControl(
  label: string,
  initial: number,
  { min, max }: { min: number; max: number },
): Control<number> {
  const input = create('input', {
    id: uniqueId(),
    type: 'number',
    inputmode: 'numeric',
    step: '1',
    min: String(min),
    max: String(max),
    value: String(initial),
  });
  return {
    element: labelled(label, input),
    value: () => {
      const value = input.valueAsNumber;
      const isValid = Number.isInteger(value) && value >= min && value <= max;
      input.ariaInvalid = String(!isValid);
      if (!isValid) {
        throw new InvalidInput(`“${label}” must be a whole number from ${min} to ${max}.`);
      }
      return value;
    },
  };
}

export function choiceControl(
  label: string,
  options: Readonly<Record<string, string>>,
  initial?: string,
): Control<string> {
  const items = Object.entries(options).map(([value, text]) => create('option', { value }, text));
  const select = create('select', { id: uniqueId() }, ...items);
  select.value = initial ?? select.value;
  return { element: labelled(label, select), value: () => select.value };
}

function labelled(text: string, input: HTMLElement): HTMLElement {
  return create('p', { class: 'subject-control' }, create('label', { for: input.id }, text), input);
}
