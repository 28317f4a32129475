/** What failed in the output of `bun test`, in a few words a test: for the end of a long output. */

/** Of one error, in characters. */
const errorLength = 260
const resultLine = /^\((pass|fail|skip|todo)\) (.*?)(?: \[[\d.]+m?s\])?$/
const errorLine = /^(?:[\w.]*[eE]rror(?::|$)|DOMException)/
const endOfError = /^(?:\s+at |[-]{8,}$|\s*\d+ \| )/
/** A comparison is told by what differs, not by what is around it. */
const difference = /^(?:[-+] (?!(?:Expected|Received) {2})|Expected|Received)/

/** In the order of the output; each a line: `name: error (place)`. */
export function failuresIn(output: string): string[] {
  const failures: string[] = []
  const lines = Bun.stripANSI(output).split('\n')
  let last = 'the first test'
  let error = ''
  for (const [at, line] of lines.entries()) {
    const [, result, name] = resultLine.exec(line) ?? []
    if (result) {
      if (result === 'fail') failures.push(`${name}: ${reasonBelow(lines, at) ?? (error || 'no error was printed')}`)
      else if (error) failures.push(`before ${name}: ${error}`)
      last = `after ${name}`
      error = ''
    } else if (!error && errorLine.test(line)) error = errorAt(lines, at)
  }
  if (error) failures.push(`${last}: ${error}`)
  return failures
}

/** At most `limit` lines, indented; the last one says how many more there are. */
export function shortened(failures: readonly string[], limit: number): string[] {
  const shown = failures.length <= limit ? failures : failures.slice(0, limit - 1)
  const more = failures.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].map(line => `  ${line}`)
}

/** `^ this test timed out after 100ms.` stands below its test. */
function reasonBelow(lines: readonly string[], at: number): string | undefined {
  return /^\s+\^ (.*)$/.exec(lines[at + 1] ?? '')?.[1]
}

function errorAt(lines: readonly string[], from: number): string {
  const length = lines.slice(from).findIndex(line => endOfError.test(line) || resultLine.test(line))
  const to = length < 0 ? lines.length : from + length
  const [first = '', ...more] = lines.slice(from, to).filter(line => line.trim() !== '')
  const rest = /^error: expect\(/.test(first) ? more.filter(line => difference.test(line)) : more
  const text = [first, ...rest.map(line => line.trim().replace(/\s+/g, ' '))].join(' | ')
  const cut = text.length > errorLength ? `${text.slice(0, errorLength)}...` : text
  const place = /([\w-]+(?:\.\w+)*\.ts:\d+):\d+\)?$/.exec(placeLine(lines, to))?.[1]
  return place ? `${cut} (${place})` : cut
}

/** The line of the test file, else the first. */
function placeLine(lines: readonly string[], from: number): string {
  const length = lines.slice(from).findIndex(line => !/^\s+at /.test(line))
  const places = lines.slice(from, length < 0 ? undefined : from + length)
  return places.find(line => line.includes('.test.ts:')) ?? places[0] ?? ''
}
