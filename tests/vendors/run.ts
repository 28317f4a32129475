/**
 * `npm run vendors`: sends every golden shape, of every client, through a gateway to every provider, and has what
 * leaves it judged by the vendors' own packages (npm, Python, Go). Prints a table and every deviation, and ends with
 * status 1 when there is one. `-- --write` writes the table to docs/vendors.md. Python and Go are skipped where they
 * are missing.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { capture } from './capture.ts'
import type { Capture } from './capture.ts'
import { clientDialects } from './client-bodies.ts'
import { goVerdicts, pythonVerdicts } from './other-languages.ts'
import type { Verdicts } from './other-languages.ts'
import { npmVerdict, ownDeviations } from './referees.ts'
import { vendorRows } from './rows.ts'
import { ruleBreaches } from './rule-breaches.ts'

interface Row {
  sent: number
  checked: number
  invalid: number
  checkedText: number
  against: number
  readonly referees: Set<string>
}

const page = join(import.meta.dir, '..', '..', 'docs', 'vendors.md')
const shownMax = 100

const { sent, refused } = await capture(vendorRows, clientDialects)
console.log(`${sent.length} bodies sent, ${refused.length} calls refused by the gateway itself`)
const jobs = [npmVerdicts(sent), await named('Python', pythonVerdicts(sent)), await named('Go', goVerdicts(sent))]
const rows = new Map<string, Row>()
const deviations = new Map<string, string[]>()
sent.forEach((one, at) => judge(one, at))
const table = tableOf()
console.log(table)
showDeviations()
if (process.argv.includes('--write')) writePage()
process.exit(deviations.size > 0 || sent.length === 0 ? 1 : 0)

function npmVerdicts(captures: readonly Capture[]): Verdicts {
  return new Map(
    captures.flatMap((one, at) => {
      const verdict = npmVerdict(one)
      return verdict ? [[at, verdict] as const] : []
    }),
  )
}

async function named(language: string, job: Promise<Verdicts | undefined>): Promise<Verdicts> {
  const verdicts = await job
  if (!verdicts) console.log(`skipped: there is no ${language} on this machine`)
  return verdicts ?? new Map()
}

function judge(one: Capture, at: number): void {
  let row = rows.get(one.provider)
  if (!row)
    rows.set(one.provider, (row = { sent: 0, checked: 0, invalid: 0, checkedText: 0, against: 0, referees: new Set() }))
  row.sent++
  const verdicts = jobs.flatMap(job => job.get(at) ?? [])
  if (verdicts.length > 0) row.checked++
  let isInvalid = false
  for (const verdict of verdicts) {
    row.referees.add(verdict.referee)
    for (const deviation of ownDeviations(verdict, one)) {
      isInvalid = true
      note(one, `by ${verdict.referee}: ${deviation.replace(/\/\d+/g, '/N')}`)
    }
  }
  if (isInvalid) row.invalid++
  const breaches = ruleBreaches(one)
  if (breaches) row.checkedText++
  if (breaches && breaches.length > 0) row.against++
  for (const breach of breaches ?? []) note(one, `against a rule: ${breach}`)
}

function note({ provider, dialect, shape }: Capture, what: string): void {
  const kind = `${provider} (${dialect}), ${what}`
  deviations.set(kind, [...(deviations.get(kind) ?? []), shape])
}

function tableOf(): string {
  const lines = [...rows].map(
    ([provider, { sent: count, checked, invalid, checkedText, against, referees }]) =>
      `| ${provider} | ${count} | ${checked} | ${invalid} | ${[...referees].sort().join(', ') || '-'} | ${checkedText} | ${against} |`,
  )
  return [
    '| provider | sent | checked | invalid | by | under a rule | against it |',
    '|---|---:|---:|---:|---|---:|---:|',
    ...lines.sort(),
  ].join('\n')
}

function showDeviations(): void {
  const list = [...deviations].sort(([, one], [, other]) => other.length - one.length)
  for (const [kind, shapes] of list.slice(0, shownMax))
    console.log(`${shapes.length} x ${kind} | ${[...new Set(shapes)].slice(0, 3).join(', ')}`)
  if (list.length > shownMax) console.log(`... and ${list.length - shownMax} more`)
}

function writePage(): void {
  const [begin, end] = ['<!-- table -->', '<!-- /table -->']
  const text = readFileSync(page, 'utf8')
  const [before] = text.split(begin)
  const after = text.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the table`)
  writeFileSync(page, `${before}${begin}\n\n${table}\n\n${end}${after}`)
}
