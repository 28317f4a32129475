/** Sums of usage with the names of what they are of, in the forms that people and programs read. */
import type { UsageField, UsageGroup } from '../core/ledger/usage-report.ts'
import type { KeyStore } from '../core/tenancy/keys.ts'
import type { TenancyReader } from '../core/tenancy/tenancy-store.ts'
import { dayMs } from '../lib/clock.ts'
import { nanoUsdToText } from '../pricing/cost.ts'
import { table } from './command.ts'

interface Naming {
  /** As the command calls them. */
  readonly by: readonly string[]
  readonly groups: readonly (UsageField | 'day')[]
  readonly keys: Pick<KeyStore, 'find'>
  readonly tenancy: Pick<TenancyReader, 'findAll'>
}

const numbers = ['calls', 'failed', 'input_tokens', 'output_tokens', 'cost_usd', 'unpriced'] as const
const named = new Set(['key', 'user', 'team', 'organization'])

/** One row a group: each dimension with its name where it has one, then the sums. */
export async function unitedTable(groups: readonly UsageGroup[], naming: Naming) {
  const nameOf = await namesOf(groups, naming)
  const headings = naming.by.flatMap(name => (named.has(name) ? [`${name}_id`, name] : [name])).concat(numbers)
  const rows = groups.map(group => {
    const fields = naming.by.flatMap((name, at) => {
      const field = naming.groups[at]!
      if (field === 'day') return [new Date(group.day * dayMs).toISOString().slice(0, 10)]
      const value = group.fields[field]
      return named.has(name) ? [value, nameOf(name, value)] : [value]
    })
    const { requests, successfulRequests, inputTokens, outputTokens, costNanoUsd, unpricedRequests } = group
    const sums = [requests, requests - successfulRequests, inputTokens, outputTokens].map(String)
    return [...fields, ...sums, nanoUsdToText(costNanoUsd), String(unpricedRequests)]
  })
  return {
    text: () =>
      table(
        headings.map(one => one.toUpperCase().replaceAll('_', ' ')),
        rows,
      ),
    csv: () => [headings, ...rows].map(cells => cells.map(csvCell).join(',')).join('\n'),
    json: () =>
      JSON.stringify(
        rows.map(cells =>
          Object.fromEntries(
            headings.map((heading, at) => {
              const isNumber = heading !== 'cost_usd' && (numbers as readonly string[]).includes(heading)
              return [heading, isNumber ? Number(cells[at]) : cells[at]]
            }),
          ),
        ),
        null,
        2,
      ),
  }
}

/** A cell that spreadsheets would take for a formula is a text. */
function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

async function namesOf(groups: readonly UsageGroup[], { by, groups: fields, keys, tenancy }: Naming) {
  const names = new Map<string, string>()
  for (const [at, name] of by.entries()) {
    const field = fields[at]!
    if (field === 'day' || !named.has(name)) continue
    const ids = [...new Set(groups.map(group => group.fields[field]))].filter(id => id !== '')
    if (name === 'key') for (const id of ids) names.set(`key ${id}`, (await keys.find({ id }))?.alias ?? '')
    else if (name === 'user')
      for (const one of await tenancy.findAll('user', ids)) names.set(`user ${one.id}`, one.email ?? one.alias ?? '')
    else if (name === 'team' || name === 'organization')
      for (const one of await tenancy.findAll(name, ids)) names.set(`${name} ${one.id}`, one.alias ?? '')
  }
  return (name: string, id: string): string => names.get(`${name} ${id}`) ?? ''
}
