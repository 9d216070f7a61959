/** Joins the words of a command, quoted for a POSIX shell. */
export function shellCommand(words: string[]): string {
  return words.map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
