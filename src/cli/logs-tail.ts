/** `modelgate logs tail`: calls of a running gateway as they end. */
import type { ShownCallRow } from './shown-call-line.ts'
import { lineOfCall } from './shown-call-line.ts'
import type { Command } from './command.ts'
import { print, printError, UsageError } from './command.ts'
import { accessFlags, askWithKey, gatewayAccess } from './gateway-access.ts'
import type { GatewayAccess } from './gateway-access.ts'
import { jsonFlag } from './options.ts'

const againMs = 1000

/** Goes on until it is stopped; a gateway that is started again is followed again, from where the stream broke off. */
export const logsTail: Command = {
  name: 'logs tail',
  summary: 'Follow the calls of a running gateway as they end',
  flags: {
    ...accessFlags,
    failed: { type: 'boolean', help: 'Only calls that failed or were refused' },
    filter: {
      type: 'string',
      value: 'NAME=VALUE',
      help: 'As GET /spend/logs/events: team=core, model=gpt*, key_alias=ci; again for more',
      multiple: true,
    },
    json: { ...jsonFlag, help: 'Write a line of JSON for each call' },
  },
  async run(input) {
    const access = gatewayAccess(input)
    const query = new URLSearchParams(filtersOf(input.flags.filter))
    if (input.flags.failed) query.set('status_filter', 'failure')
    let last: string | undefined
    for (let isFirst = true; ; isFirst = false) {
      try {
        last = await follow(access, { query, last, isJson: input.flags.json === true })
        printError('note: the stream ended; following again')
      } catch (error) {
        if (isFirst || !(error instanceof Error) || /^4\d\d: /.test(error.message)) throw error
        printError(`note: ${error.message}; trying again`)
      }
      await Bun.sleep(againMs)
    }
  },
}

function filtersOf(given: unknown): [string, string][] {
  const filters = Array.isArray(given) ? (given as string[]) : []
  return filters.map(one => {
    const at = one.indexOf('=')
    if (at < 1) throw new UsageError(`--filter must be NAME=VALUE, such as team=core; got '${one}'`)
    return [one.slice(0, at), one.slice(at + 1)]
  })
}

interface Following {
  readonly query: URLSearchParams
  /** The last event that was read; undefined = none. */
  readonly last: string | undefined
  readonly isJson: boolean
}

/** Returns the id of the last event when the stream ends. */
async function follow(access: GatewayAccess, { query, last, isJson }: Following): Promise<string | undefined> {
  const headers: Record<string, string> = last === undefined ? {} : { 'last-event-id': last }
  const answer = await askWithKey(access, `/spend/logs/events?${query.toString()}`, { headers })
  const decoder = new TextDecoder()
  let [pending, at] = ['', last]
  for await (const bytes of answer as AsyncIterable<Buffer>) {
    const events = (pending + decoder.decode(bytes, { stream: true })).split('\n\n')
    pending = events.pop()!
    for (const event of events) {
      const lines = new Map(
        event.split('\n').map(line => [line.split(':', 1)[0], line.replace(/^\w*: ?/, '')] as const),
      )
      at = lines.get('id') ?? at
      const data = lines.get('data') ?? ''
      if (lines.get('event') === 'reload')
        printError('note: calls may be missing here; GET /spend/logs/v2 has them all')
      if (lines.get('event') === 'error') throw new Error(data)
      if (lines.get('event') !== 'rows') continue
      const { data: rows } = JSON.parse(data) as { data: ShownCallRow[] }
      // Newest first, as lists have them.
      for (const row of rows.toReversed()) print(isJson ? JSON.stringify(row) : lineOfCall(row))
    }
  }
  return at
}
