/** For tests: a thread in the background that writes to an SQLite file without a pause, until it is ended. */
import { Database } from 'bun:sqlite'
import { adoptTurns, letOthersWrite } from './write-turns.ts'
import type { WriteTurns } from './write-turns.ts'

declare const self: Worker

/** What the thread is started with. */
export interface BusyWriter {
  readonly path: string
  readonly turns: WriteTurns
  /** Of each transaction. */
  readonly heldMs: number
}

self.onmessage = ({ data: { path, turns, heldMs } }: MessageEvent<BusyWriter>) => {
  adoptTurns(turns)
  const database = new Database(path)
  database.run('pragma busy_timeout = 5000')
  const write = database.transaction(() => {
    database.run("insert into busy (name) values ('row')")
    for (const untilMs = performance.now() + heldMs; performance.now() < untilMs; );
  }).immediate
  for (let count = 1; ; count++) {
    letOthersWrite()
    write()
    if (count === 3) postMessage('writes')
  }
}
