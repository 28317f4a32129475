/** Postgres refuses a NUL in a parameter, and both databases half of a surrogate pair; no stored text has either. */
export function storableParameter(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}
