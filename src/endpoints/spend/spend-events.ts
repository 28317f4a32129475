/** Follows the ledger: calls as they end, as server-sent events. */
import { errorSchema } from '../openapi/errors.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { EventStream, eventBytes } from '../../formats/openai/event-stream.ts'
import type { Answer } from '../../core/answer.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { toGatewayError } from '../../core/errors.ts'
import type { LedgerRow } from '../../core/ledger/ledger-columns.ts'
import type { TailPiece } from '../../core/ledger/ledger-tail.ts'
import { shownCall } from '../../core/ledger/shown-call.ts'
import { readQuery } from '../common/checked-input.ts'
import { constant, described, either, listOf, named, shape } from '../openapi/schema.ts'
import { followedRows, resolved, rowFilter, rowFilterDoc } from './common/row-filter.ts'
import { spendLogSchema } from './spend-logs.ts'
import { ownerNamesOf } from './common/owner-names.ts'

const spendLogEventSchema = named('SpendLogEvent', () =>
  described(
    '`rows`: new calls, newest first. `reload`: calls may be missing before, read `/spend/logs/v2`. `error`, `done`.',
    either(shape({}, { data: listOf(spendLogSchema) }), errorSchema, constant('[DONE]')),
  ),
)

/** Whether the key or session still counts, and what it may see, is asked so often. */
const admitMs = 1000
/** Unread by a client, beyond which it is cut and comes back with the last id that it read. */
const unreadBytesMax = 1024 * 1024

let turns = Promise.resolve()
/** Followers get the same rows at the same moment: each in a turn of its own, so that calls go on in between. */
const ownTurn = (): Promise<void> => (turns = turns.then(() => nextTurn()))

/** Each row is written once, and its key looked up once, however many follow. */
const shownRows = new WeakMap<LedgerRow, Promise<string>>()

/** JSON of each row. */
function shown(services: Services, rows: readonly LedgerRow[]): Promise<string[]> {
  const fresh = rows.filter(row => !shownRows.has(row))
  if (fresh.length > 0) {
    const names = ownerNamesOf(services, fresh)
    // Followers of the same rows ask in the same moment: they find the promise.
    for (const row of fresh)
      shownRows.set(
        row,
        names.then(nameOf => shownCall(row, nameOf(row))),
      )
    names.catch(() => {
      // The database is away: they are requested again.
      for (const row of fresh) shownRows.delete(row)
    })
  }
  return Promise.all(rows.map(row => shownRows.get(row)!))
}

const events = new WeakMap<TailPiece, Promise<Uint8Array>>()

/** The event of a piece, once for all that follow the same. */
function eventOf(services: Services, piece: TailPiece): Promise<Uint8Array> {
  const known = events.get(piece)
  if (known) return known
  const made = shown(services, piece.rows).then(texts =>
    eventBytes('rows', `{"data":[${texts.toReversed().join(',')}]}`, piece.position),
  )
  events.set(piece, made)
  return made
}

/** `rows` = new rows, newest first; `reload` = rows may be missing before: read `/spend/logs/v2`. */
export const spendEvents: Endpoint = {
  method: 'GET',
  paths: ['/spend/logs/events'],
  auth: 'key',
  doc: {
    operationId: 'followSpendLogs',
    summary: 'Calls of all replicas as they end; `Last-Event-ID` goes on where a stream broke off',
    tag: 'Spend',
    query: rowFilterDoc,
    success: { 'text/event-stream': spendLogEventSchema },
    failures: [403, 429, 503],
    headers: ['x-request-id'],
  },
  async handle(request, services, caller): Promise<Answer> {
    const query = await resolved(services, readQuery(request, rowFilter()))
    let rows = followedRows(query, caller!)
    // One piece after the other: names of keys are looked up in between.
    let sent = Promise.resolve()
    const send = async (piece: TailPiece) => {
      if (piece.hasGap) stream.emit('reload', {}, piece.position)
      if (piece.rows.length === 0) return
      const event = await eventOf(services, piece)
      await ownTurn()
      stream.emitBytes(event)
    }
    const end = (error?: unknown) => {
      if (error !== undefined) stream.fail(toGatewayError(error))
      stream.end()
    }
    const leave = services.ledgerTail.follow(
      {
        owner: caller!.session?.id ?? caller!.key.id,
        rows: () => rows,
        piece: piece => void (sent = sent.then(() => send(piece)).catch(end)),
        ended: end,
      },
      request.headers.get('last-event-id') ?? undefined,
    )
    const look = async () => {
      rows = followedRows(query, await services.admitAgain(request, spendEvents))
    }
    const timer = setInterval(() => void look().catch(end), admitMs)
    const onStop = () => {
      clearInterval(timer)
      leave()
    }
    const stream = new EventStream({ unreadBytesMax, onStop })
    return stream.answer(request.id)
  },
}
