/** Journals of workers that are not started any more: their rows are stored by the first of those that are. */
import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { ServeOptions } from '../../config/serve-options.ts'
import { filesOf } from '../../store/ledger/journal/journal.ts'
import { refusedName } from '../../store/ledger/journal/refused-rows.ts'

/**
 * Moves the segments of all other journals to `own`: for a process that serves alone, and for the first worker before
 * the others are started. Their names are those of one start of one process each, so that none meets another.
 */
export function adoptJournals({ dataDirectory, worker }: ServeOptions, own: string): void {
  if (worker !== undefined && worker.number !== 1) return
  const left = filesOf(join(dataDirectory, 'workers'))
    .filter(number => /^\d+$/.test(number) && (worker === undefined || Number(number) > worker.count))
    .map(number => join(dataDirectory, 'workers', number, 'journal'))
  if (worker) left.push(join(dataDirectory, 'journal'))
  for (const directory of left) moveSegments(directory, own)
}

function moveSegments(from: string, to: string): void {
  const files = filesOf(from).filter(file => file !== refusedName)
  if (files.length === 0) return
  mkdirSync(to, { recursive: true, mode: 0o700 })
  for (const file of files) renameSync(join(from, file), join(to, file))
}
