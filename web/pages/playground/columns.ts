/** The columns of the playground as they stand in its address: `model`, `params`, `model2`, `params2`, ... */
import type { SearchValues } from '../../lib/address.ts'
import type { Parameters } from './operations.ts'

export const columnsMax = 4

/** What one column asks. */
export interface Column {
  /** Public name; empty = the first that fits. */
  readonly model: string
  readonly parameters: Parameters
}

const nameOf = (name: string, at: number): string => (at === 0 ? name : `${name}${at + 1}`)

/** At least one; `columns` says how many, as one may have neither a model nor parameters of its own. */
export function readColumns(search: SearchValues): Column[] {
  const count = Math.min(columnsMax, Math.max(1, Math.trunc(Number(search.columns)) || 1))
  return Array.from({ length: count }, (_, at) => ({
    model: search[nameOf('model', at)] ?? '',
    parameters: readParameters(search[nameOf('params', at)]),
  }))
}

/** An address can come from anywhere: numbers and texts by name, all else is left out. */
function readParameters(text: string | undefined): Parameters {
  try {
    const parsed: unknown = JSON.parse(text ?? '{}')
    if (typeof parsed !== 'object' || parsed === null) return {}
    return Object.fromEntries(
      Object.entries(parsed).filter(([, value]) => typeof value === 'number' || typeof value === 'string'),
    ) as Parameters
  } catch {
    return {}
  }
}

/** Values of the address; undefined takes one away. */
export function writeColumns(columns: readonly Column[]): SearchValues {
  const values: Record<string, string | undefined> = {
    columns: columns.length > 1 ? String(columns.length) : undefined,
  }
  for (let at = 0; at < columnsMax; at++) {
    const { model = '', parameters = {} } = columns[at] ?? {}
    values[nameOf('model', at)] = model || undefined
    values[nameOf('params', at)] = Object.keys(parameters).length > 0 ? JSON.stringify(parameters) : undefined
  }
  return values
}
