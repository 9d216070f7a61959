/** Something in the form that cannot be meant; the message says what is expected. */
export class InvalidInput extends Error {}
