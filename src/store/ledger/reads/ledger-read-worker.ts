/** The entry point of a thread that reads the ledger: answers one question after the other on SQLite. */
import { compileAsUsual } from '../../../lib/compile-policy.ts'
import { idlePriority, lowestPriority } from '../../../platform/thread-priority.ts'
import { isOfStatement } from '../../database/open.ts'
import { openLedgerSource } from '../ledger-database.ts'
import type { LedgerSource } from '../ledger-database.ts'
import type { ReadReply, ReadRequest, ReadThreadSettings } from './ledger-reader-messages.ts'
import { ledgerReads } from './ledger-reads.ts'
import type { ReadKind } from './ledger-reads.ts'

declare const self: Worker

let settings: ReadThreadSettings
let source: Promise<LedgerSource> | undefined

/** Moved, not copied: it is not used here afterwards. */
const send = (reply: ReadReply, moved: ArrayBuffer[] = []) => postMessage(reply, moved)

self.onmessage = ({ data }: MessageEvent<ReadRequest>) => {
  switch (data.kind) {
    case 'open':
      compileAsUsual()
      settings = data.settings
      if (settings.isIdle) idlePriority()
      else lowestPriority()
      return
    case 'ask':
      return void answer(data.id, data.of, data.query)
    case 'close':
      return void disconnect().finally(() => process.exit(0))
  }
}

async function answer(id: number, of: ReadKind, query: unknown): Promise<void> {
  try {
    const read = ledgerReads[of] as (source: LedgerSource, query: unknown) => Promise<unknown>
    const found = await again(async () => read(await connect(), query))
    send({ kind: 'answer', id, answer: found }, found instanceof Uint8Array ? [found.buffer as ArrayBuffer] : [])
  } catch (error) {
    send({ kind: 'failed', id, error: String(error) })
  }
}

/** Once more on a new connection: after a restart of the database the old ones fail one query each. */
async function again<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (isOfStatement(error)) throw error
    await disconnect()
    return read()
  }
}

function connect(): Promise<LedgerSource> {
  if (source === undefined) {
    const opening = openLedgerSource(settings.databaseUrl, settings.openedFile)
    source = opening
    opening.catch(() => {
      if (source === opening) source = undefined
    })
  }
  return source
}

/** A broken connection is not used again; questions that wait on it get an error. */
async function disconnect(): Promise<void> {
  const old = source
  source = undefined
  await old?.then(open => open.close()).catch(() => {})
}
