/** What a client of one gateway would miss at another: names and types, and the values that programs decide by. */
import type { Answer } from './answer.ts'

/** Values of these fields decide what a program does. */
const decisive: ReadonlySet<string> = new Set(['object', 'type', 'code', 'param', 'finish_reason', 'role', 'status'])
/** Maps whose names are data: they count by their first entry. */
const maps: ReadonlySet<string> = new Set(
  'models model_groups providers api_keys api_key_breakdown endpoints entities mcp_servers'.split(' '),
)
/** Headers that programs and dashboards read. */
const readHeaders = /^(?:content-type|retry-after|allow|x-litellm-|x-ratelimit-|anthropic-|llm_provider-|request-id)/

/**
 * One line for each thing that `theirs` has and `ours` has not, or has otherwise. What only ours has is no difference.
 * A list counts by its first element, a stream by the order of its events and the fields of each sort of event.
 */
export function differences(theirs: Answer, ours: Answer): string[] {
  if (theirs.status !== ours.status) {
    const lines = [`status: ${theirs.status} there, ${ours.status} here`]
    // Of two refusals the words still count.
    return theirs.status >= 400 && ours.status >= 400 ? [...lines, ...bodyLines(theirs, ours)] : lines
  }
  return [...headerLines(theirs, ours), ...bodyLines(theirs, ours)]
}

function headerLines(theirs: Answer, ours: Answer): string[] {
  return Object.entries(theirs.headers).flatMap(([name, value]) => {
    if (!readHeaders.test(name)) return []
    const own = ours.headers[name]
    if (own === undefined) return [`header ${name}: missing here`]
    if (name === 'content-type' && mediaType(own) !== mediaType(value))
      return [`header ${name}: ${mediaType(value)} there, ${mediaType(own)} here`]
    return []
  })
}

const mediaType = (value: string): string => value.split(';')[0]!.trim()

function bodyLines(theirs: Answer, ours: Answer): string[] {
  if (theirs.isStream !== ours.isStream)
    return [`body: ${theirs.isStream ? 'a stream' : 'whole'} there, ${ours.isStream ? 'a stream' : 'whole'} here`]
  if (!theirs.isStream) return fieldLines('body', theirs.body, ours.body)
  const [order, ownOrder] = [sortsOf(theirs.body as unknown[]), sortsOf(ours.body as unknown[])]
  const lines =
    order.join(' ') === ownOrder.join(' ') ? [] : [`events: ${order.join(' ')} there, ${ownOrder.join(' ')} here`]
  for (const sort of new Set(order)) {
    const first = (events: unknown) => (events as unknown[]).find(event => sortOf(event) === sort)
    if (ownOrder.includes(sort)) lines.push(...fieldLines(`event ${sort}`, first(theirs.body), first(ours.body)))
  }
  return lines
}

/** The sorts of events in their order, repetitions left out. */
function sortsOf(events: readonly unknown[]): string[] {
  return events.map(sortOf).filter((sort, at, all) => sort !== all[at - 1])
}

interface Chunk {
  readonly type?: unknown
  readonly error?: unknown
  readonly usage?: unknown
  readonly choices?: readonly { readonly text?: unknown; readonly finish_reason?: unknown; readonly delta?: object }[]
}

function sortOf(event: unknown): string {
  if (typeof event === 'string') return event
  const { type, error, usage, choices = [] } = event as Chunk
  if (error) return 'error'
  if (typeof type === 'string') return type
  const [choice] = choices
  if (choice?.finish_reason) return 'finish'
  if (usage && !choice?.text) return 'usage'
  if (!choice) return 'empty'
  const delta = (choice.delta ?? {}) as Record<string, unknown>
  const filled = ['tool_calls', 'reasoning_content', 'content'].find(name => delta[name])
  return filled ?? (choice.text ? 'text' : 'role' in delta ? 'role' : 'nothing')
}

function fieldLines(path: string, theirs: unknown, ours: unknown): string[] {
  if (theirs === undefined || theirs === null) return []
  if (Array.isArray(theirs)) {
    if (!Array.isArray(ours)) return [`${path}: list there, ${typeName(ours)} here`]
    if (theirs.length > 0 && ours.length === 0) return [`${path}: empty here`]
    return theirs.length === 0 ? [] : fieldLines(`${path}[]`, theirs[0], ours[0])
  }
  if (typeof theirs !== 'object') {
    if (typeof ours !== typeof theirs && ours !== null)
      return [`${path}: ${typeName(theirs)} there, ${typeName(ours)} here`]
    const name = path.split('.').at(-1)!
    return decisive.has(name) && ours !== theirs
      ? [`${path}: ${JSON.stringify(theirs)} there, ${JSON.stringify(ours)} here`]
      : []
  }
  if (typeName(ours) !== 'object') return [`${path}: object there, ${typeName(ours)} here`]
  const own = ours as Record<string, unknown>
  if (maps.has(path.split('.').at(-1)!)) return mapLines(path, theirs as Record<string, unknown>, own)
  return Object.entries(theirs).flatMap(([name, value]) =>
    name in own
      ? fieldLines(`${path}.${name}`, value, own[name])
      : [`${path}.${name}: missing here${isEmpty(value) ? ', empty there' : ''}`],
  )
}

function mapLines(path: string, theirs: Record<string, unknown>, ours: Record<string, unknown>): string[] {
  const [[first], [ownFirst]] = [Object.values(theirs), Object.values(ours)]
  if (first === undefined) return []
  return ownFirst === undefined ? [`${path}: empty here`] : fieldLines(`${path}{}`, first, ownFirst)
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value as object).length === 0)

function typeName(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'list' : typeof value
}
