/** A file with rotation, and a syslog server. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { connect } from 'node:net'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { LedgerRow } from '../core/ledger/ledger-columns.ts'
import type { Sink } from '../core/ledger/sink.ts'
import type { SinkParams } from '../core/ledger/sinks.ts'
import { jsonLines } from './json-lines.ts'

const megabyte = 1024 * 1024
const timeoutMs = 15_000

/** JSON lines at `path`, synced; a full one becomes `path.1`, and so on up to `kept_files`. */
export function fileSink({ path, rotate_mb: rotateMb, kept_files: kept }: SinkParams): Sink {
  const file = path!
  return {
    rowsMax: 500,
    async send(rows) {
      mkdirSync(dirname(file), { recursive: true })
      if (existsSync(file) && statSync(file).size >= rotateMb * megabyte) rotate(file, kept)
      const descriptor = openSync(file, 'a', 0o600)
      try {
        const bytes = Buffer.from(jsonLines(rows))
        for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
        fsyncSync(descriptor)
      } finally {
        closeSync(descriptor)
      }
    },
  }
}

function rotate(file: string, kept: number): void {
  rmSync(`${file}.${kept}`, { force: true })
  for (let at = kept - 1; at >= 1; at--)
    if (existsSync(`${file}.${at}`)) renameSync(`${file}.${at}`, `${file}.${at + 1}`)
  if (kept >= 1) renameSync(file, `${file}.1`)
  else rmSync(file)
}

/** Facility `local0`; severity `info`, or `warning` for calls that did not succeed. */
const [info, warning] = [16 * 8 + 6, 16 * 8 + 4]

/**
 * RFC 5424 over TCP with octet counting (RFC 6587, 3.4.1). A syslog server answers nothing: rows have arrived when it
 * has taken the bytes and the end of the connection.
 */
export function syslogSink({ url }: SinkParams): Sink {
  const { hostname: host, port } = new URL(url!)
  return {
    rowsMax: 200,
    send(rows) {
      const bytes = rows
        .map(row => {
          const line = Buffer.from(syslogLine(row))
          return `${line.length} ${line.toString()}`
        })
        .join('')
      return new Promise<void>((resolve, reject) => {
        const socket = connect({ host, port: Number(port || 601) })
        socket.setTimeout(timeoutMs, () => socket.destroy(new Error('the syslog server has not answered for 15 s')))
        socket.on('error', reject)
        socket.on('close', hadError => (hadError ? undefined : resolve()))
        socket.on('connect', () => socket.end(bytes))
        socket.resume()
      })
    },
  }
}

/** https://www.rfc-editor.org/rfc/rfc5424#section-6 */
const syslogLine = (row: LedgerRow): string =>
  `<${row.outcome === 'success' ? info : warning}>1 ${new Date(row.started_at_ms).toISOString()} ` +
  `${hostname().replaceAll(/[^\x21-\x7e]/g, '') || '-'} modelgate ${process.pid} call - ${JSON.stringify(row)}`
