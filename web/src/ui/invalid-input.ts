/** An invalid value in the form. The message says what is expected. */
export class InvalidInput extends Error {}
