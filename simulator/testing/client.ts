/** For tests: a raw TCP client. */
import { connect } from 'node:net'
import type { Simulator } from '../index.ts'

/** What a connection received, and how it ended. */
interface RawResult {
  readonly bytes: Buffer
  readonly text: string
  /** `fin` or `rst` by the server; `open` = neither, and nothing was heard for `quietMs`. */
  readonly end: 'fin' | 'rst' | 'open'
  /** Sizes of the chunks as they were read. */
  readonly pieces: number[]
  readonly tookMs: number
}

/** Without a byte for so long, a connection that has to stay open is taken to do so. */
export const keptOpenMs = 300

/**
 * Sends text over a new connection and reads until the connection ends, or nothing was heard for `quietMs`: for a
 * connection that has to stay open, little; else so much that no load of the machine takes it.
 */
export function rawExchange(simulator: Simulator, sent: string | string[], quietMs = 30_000): Promise<RawResult> {
  const startMs = performance.now()
  const chunks: Buffer[] = []
  return new Promise(resolve => {
    const socket = connect({ port: simulator.port, host: '127.0.0.1' })
    let isDone = false
    const done = (end: RawResult['end']) => {
      if (isDone) return
      isDone = true
      clearTimeout(timer)
      socket.destroy()
      const bytes = Buffer.concat(chunks)
      const pieces = chunks.map(chunk => chunk.length)
      resolve({ bytes, text: bytes.toString('utf8'), end, pieces, tookMs: performance.now() - startMs })
    }
    const timer = setTimeout(() => done('open'), quietMs)
    socket.setNoDelay(true)
    socket.on('data', bytes => {
      chunks.push(Buffer.from(bytes))
      timer.refresh()
    })
    socket.on('error', error => done((error as NodeJS.ErrnoException).code === 'ECONNRESET' ? 'rst' : 'fin'))
    socket.on('end', () => done('fin'))
    socket.on('close', () => done('fin'))
    socket.on('connect', async () => {
      for (const text of [sent].flat()) {
        socket.write(text)
        await Bun.sleep(0)
      }
    })
  })
}

/** The bytes of a POST with a JSON body. */
export function post(path: string, body: unknown, head = ''): string {
  const text = JSON.stringify(body)
  const length = Buffer.byteLength(text)
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n${head}\r\n${text}`
}

/** A chat request; `fault` is appended to the model name. */
export function chat(fault: string, more: object = {}, prompt = 'tokens: 10'): string {
  const model = fault === '' ? 'sim' : `sim#${fault}`
  return post('/v1/chat/completions', { model, messages: [{ role: 'user', content: prompt }], ...more })
}

/** Head and de-chunked body; `isWhole` = the framing was complete. */
export function bodyOf(result: RawResult): { head: string; body: Buffer; isWhole: boolean } {
  const split = result.bytes.indexOf('\r\n\r\n')
  const head = result.bytes.toString('latin1', 0, Math.max(split, 0))
  const rest = result.bytes.subarray(split + 4)
  const length = /content-length: (\d+)/.exec(head)
  if (length) return { head, body: rest.subarray(0, Number(length[1])), isWhole: rest.length >= Number(length[1]) }
  if (!head.includes('transfer-encoding: chunked')) return { head, body: rest, isWhole: result.end === 'fin' }
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const line = rest.indexOf('\r\n', at)
    const size = line < 0 ? Number.NaN : Number.parseInt(rest.toString('latin1', at, line), 16)
    if (size === 0) return { head, body: Buffer.concat(parts), isWhole: true }
    const isBroken = !Number.isFinite(size) || line + 2 + size + 2 > rest.length
    if (line >= 0 && Number.isFinite(size)) parts.push(rest.subarray(line + 2, line + 2 + size))
    if (isBroken) return { head, body: Buffer.concat(parts), isWhole: false }
    at = line + 2 + size + 2
  }
}

/** The `data:` of every whole event, parsed; `[DONE]` stays text. */
export function eventsOf(text: string): any[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map(event => event.slice(event.indexOf('data: ') + 6))
    .map(data => (data === '[DONE]' ? data : JSON.parse(data)))
}

/** POSTs a body as JSON and reads the response as text. The target may include headers. */
export async function postJson(simulator: Simulator, to: string | Target, body: unknown) {
  const { path, headers } = typeof to === 'string' ? { path: to, headers: {} } : to
  const response = await fetch(`${simulator.url}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

interface Target {
  readonly path: string
  readonly headers: Record<string, string>
}
