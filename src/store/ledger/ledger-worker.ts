/** The entry point of the ledger's worker thread: passes messages on to `LedgerWriter`. */
import { compileForServing } from '../../lib/compile-policy.ts'
import { adoptTurns } from '../database/write-turns.ts'
import { LedgerWriter } from './ledger-writer.ts'
import type { LedgerReply, LedgerRequest } from './ledger-messages.ts'

declare const self: Worker

const send = (reply: LedgerReply) => postMessage(reply)
let writer: LedgerWriter | undefined

self.onmessage = ({ data }: MessageEvent<LedgerRequest>) => {
  switch (data.kind) {
    case 'open':
      compileForServing()
      adoptTurns(data.settings.turns)
      writer = new LedgerWriter(data.settings, send)
      // The thread ends, and the main thread starts another.
      writer.run().catch(() => process.exit(1))
      return
    case 'spare':
      return writer?.makeSpare(data.path, data.bytes)
    case 'flush':
      return writer?.flush(data.id, data.position)
    case 'rows':
      return writer?.store(data.id, data.texts)
    case 'ranked':
      return writer?.maintenance.ranked(data.day, data.ranking)
    case 'retention':
      return writer?.keep(data.retention)
    case 'wake':
      return writer?.wake()
    case 'close':
      return writer?.close()
  }
}
