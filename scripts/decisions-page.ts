/**
 * `npm run decisions-page`: writes docs/decisions/README.md, the index of all records with their status. A test
 * compares both.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** One record: its number, title and status, as its first lines say them. */
export interface DecisionRecord {
  readonly file: string
  readonly number: number
  readonly title: string
  /** `holds`, `replaced by 9`, `replaced in part by 9: ...`, `obsolete: ...`. */
  readonly status: string
}

const folder = resolve(import.meta.dir, '../docs/decisions')

const head = `# Decisions

Written by \`npm run decisions-page\` from the first lines of each record; do not edit it by hand. A record says what
was decided when it was made, and why. Its status says what of it holds today: a later record that reverses one is named
there.

| decision | status |
|---|---|
`

/** All records in the order of their numbers. Throws where the first lines of one do not say title and status. */
export function decisionRecords(): DecisionRecord[] {
  const files = readdirSync(folder).filter(file => /^\d{4}-/.test(file))
  return files.sort().map(file => {
    const text = readFileSync(resolve(folder, file), 'utf8')
    const found = /^# (\d+)\. (.+)\n\nStatus: (.+)\.\n/.exec(text)
    if (!found) throw new Error(`${file} has to begin with "# NUMBER. TITLE", an empty line and "Status: holds."`)
    return { file, number: Number(found[1]), title: found[2]!, status: found[3]! }
  })
}

/** The text of docs/decisions/README.md. */
export function decisionsPage(records = decisionRecords()): string {
  return (
    head + records.map(({ number, title, file, status }) => `| ${number}. [${title}](${file}) | ${status} |\n`).join('')
  )
}

if (import.meta.main) writeFileSync(resolve(folder, 'README.md'), decisionsPage())
