// What the user has typed into the calculator, as text, so that a link restores it as it was.

/** An empty text is a value that is calculated, or that has its default. */
export interface CalculatorState {
  keys: string;
  error: string;
  memory: string;
  k: string;
  linesPerKey: string;
}

export const FIRST_STATE: CalculatorState = {
  keys: '1,000,000',
  error: '0.1 %',
  memory: '',
  k: '',
  linesPerKey: '2',
};
