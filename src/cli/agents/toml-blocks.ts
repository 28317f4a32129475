/** Puts blocks of our own into a file of TOML, without touching what else stands in it, and takes them out again. */

const begin = '# modelgate setup: begin (modelgate setup --undo takes it out)'
const end = '# modelgate setup: end'
/** Stands before a line of the file that a block replaces. */
const replacedMark = '# modelgate setup replaces: '

/** What goes into the file. */
export interface TomlBlocks {
  /** Keys before the first table; lines of the file with the same keys are made comments. */
  readonly top: Readonly<Record<string, string>>
  /** Tables, at the end. */
  readonly tables: string
}

/** The text with the blocks, in the place of those that are there. Throws for a text that is no TOML. */
export function withBlocks(text: string, { top, tables }: TomlBlocks): string {
  const clean = withoutBlocks(text)
  Bun.TOML.parse(clean)
  const lines = clean.split('\n')
  const firstTable = lines.findIndex(line => /^\s*\[/.test(line))
  const replaces = (line: string): boolean => Object.keys(top).some(key => new RegExp(`^\\s*${key}\\s*=`).test(line))
  const kept = lines.map((line, at) =>
    (firstTable < 0 || at < firstTable) && replaces(line) ? `${replacedMark}${line}` : line,
  )
  const keys = Object.entries(top).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
  const rest = kept.join('\n').trimEnd()
  const parts = [begin, ...keys, end, ...(rest === '' ? [] : [rest]), begin, tables.trim(), end]
  const made = `${parts.join('\n')}\n`
  Bun.TOML.parse(made)
  return made
}

/** The text without the blocks, and with the lines that they replaced. */
export function withoutBlocks(text: string): string {
  let isOurs = false
  const lines: string[] = []
  for (const line of text.split('\n')) {
    if (line === begin) isOurs = true
    else if (line === end) isOurs = false
    else if (!isOurs) lines.push(line.startsWith(replacedMark) ? line.slice(replacedMark.length) : line)
  }
  return lines.join('\n')
}
