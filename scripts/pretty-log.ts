/** Log lines of the gateway (`src/telemetry/log.ts`) for people: `npm run dev`, or any stream of them. */

type Fields = Readonly<Record<string, unknown>>

/** What a line of a call says in fixed places; other fields follow as `name=value`. */
const callFields = ['status', 'outcome', 'route', 'model', 'deployment', 'duration_ms', 'attempts'] as const
/** In every line, and of no use while developing. */
const hiddenFields: ReadonlySet<string> = new Set([
  'time',
  'level',
  'message',
  'request_id',
  'provider',
  'usage_source',
  'key',
  'user',
  'client',
  'user_agent',
  'first_byte_ms',
  'input_tokens',
  'output_tokens',
  'cost_nano_usd',
])
const colours: Readonly<Record<string, string>> = { debug: '90', info: '32', warn: '33', error: '31' }

/** One JSON line in one short line; what is no JSON object stays as it is. `colour` = with codes for terminals. */
export function prettyLine(line: string, colour = process.stdout.isTTY): string {
  const fields = fieldsOf(line)
  if (!fields) return line
  const time = String(fields.time ?? '').slice(11, 23)
  const level = String(fields.level ?? '')
  const shown = level.toUpperCase().padEnd(5)
  const code = colours[level]
  const head = `${time} ${colour && code ? `\u001b[${code}m${shown}\u001b[0m` : shown}`
  return `${head} ${fields.message === 'call' ? callText(fields) : `${fields.message}${others(fields)}`}`
}

function callText(fields: Fields): string {
  const { status, outcome, route, model, deployment, duration_ms, attempts, input_tokens, output_tokens } = fields
  const tokens =
    input_tokens === null && output_tokens === null ? '' : ` ${input_tokens ?? '?'}+${output_tokens ?? '?'} tokens`
  const tries = attempts === 1 ? '' : ` ${attempts} attempts`
  return (
    `${status} ${outcome} ${route} ${model} -> ${deployment ?? 'none'} ${duration_ms} ms` +
    `${tokens}${tries}${others(fields, callFields)}`
  )
}

function others(fields: Fields, besides: readonly string[] = []): string {
  const shown = Object.entries(fields).filter(
    ([name, value]) => !hiddenFields.has(name) && !besides.includes(name) && value !== false && value !== null,
  )
  return shown.map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`).join('')
}

function fieldsOf(line: string): Fields | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Fields
  } catch {
    return undefined
  }
}
