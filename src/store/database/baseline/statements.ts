/** Splits SQL into its statements: each ends with a semicolon at the end of a line. */
export function statementsOf(text: string): string[] {
  return text
    .split(/;$/m)
    .map(statement => statement.trim())
    .filter(statement => statement !== '')
}
