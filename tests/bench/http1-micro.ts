/**
 * What one small upstream call costs, raw client against fetch, in the same process and run.
 * `bun tests/bench/http1-micro.ts [calls] [concurrency]`. The server is a child, so its CPU is not counted.
 */
import { createHttp1Transport } from '../../src/http/client/client.ts'
import type { UpstreamRequest } from '../../src/core/transport.ts'

const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(180) }] })
const headers = { authorization: 'Bearer key', 'content-type': 'application/json' }
const reply = JSON.stringify({ id: 'chatcmpl-1', choices: [{ message: { content: 'y'.repeat(560) } }] })

if (process.argv[2] === 'serve') serve()
else await run(Number(process.argv[2] ?? 40_000), Number(process.argv[3] ?? 64))

/** Answers every request with the same bytes; one read is one request at this size. */
function serve(): void {
  const bytes = Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ndate: Sat, 21 Nov 2026 07:00:00 GMT\r\n` +
      `content-length: ${reply.length}\r\n\r\n${reply}`,
  )
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        socket.write(bytes)
      },
    },
  })
  process.stdout.write(`${server.port}\n`)
}

async function run(calls: number, concurrency: number): Promise<void> {
  const child = Bun.spawn([process.execPath, import.meta.path, 'serve'], { stdout: 'pipe' })
  try {
    const { value } = await child.stdout.getReader().read()
    const url = `http://127.0.0.1:${Number(new TextDecoder().decode(value))}/v1/chat/completions`
    const variants = { raw: rawCaller(url), fetch: fetchCaller(url) }
    const figures: Record<string, number[]> = { raw: [], fetch: [] }
    for (let round = 0; round < 6; round++) {
      for (const [name, call] of Object.entries(variants)) {
        const cpuUs = await measure(call, { calls, concurrency })
        // The first round warms up.
        if (round > 0) figures[name]!.push(cpuUs)
      }
    }
    for (const [name, list] of Object.entries(figures)) {
      list.sort((a, b) => a - b)
      const all = list.map(one => one.toFixed(1)).join(', ')
      process.stdout.write(`${name}: ${list[list.length >> 1]!.toFixed(1)} us CPU a call (${all})\n`)
    }
  } finally {
    child.kill()
  }
  process.exit(0)
}

function rawCaller(url: string): () => Promise<number> {
  const transport = createHttp1Transport()
  const request: UpstreamRequest = {
    method: 'POST',
    head: { url, headers },
    body: [Buffer.from(body)],
    timeouts: { connectMs: 5000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 0 },
  }
  return async () => {
    const response = await transport.send(request).response
    return (await response.body.bytes(1e6)).length
  }
}

function fetchCaller(url: string): () => Promise<number> {
  const init = {
    method: 'POST',
    headers: { ...headers, 'accept-encoding': 'identity' },
    redirect: 'manual',
    body: Buffer.from(body),
  } as const
  const send = globalThis.fetch
  return async () => (await (await send(url, init)).bytes()).length
}

interface Load {
  calls: number
  concurrency: number
}

/** Microseconds of this process's CPU, user and system, a call. */
async function measure(call: () => Promise<number>, load: Load): Promise<number> {
  const before = process.cpuUsage()
  let left = load.calls
  const worker = async (): Promise<void> => {
    while (left-- > 0) if ((await call()) !== reply.length) throw new Error('a wrong answer')
  }
  await Promise.all(Array.from({ length: load.concurrency }, worker))
  const used = process.cpuUsage(before)
  return (used.user + used.system) / load.calls
}
