/** For tests: an upstream of OpenAI's shape that runs batches as the test says, and lists them. */

type Json = Record<string, unknown>

/** How it takes a batch: as usual, with an answer that does not arrive, or with a failure. */
export type Taking = 'answers' | 'cuts' | 'hangs' | 'refuses' | 'fails'

export interface BatchUpstream {
  readonly url: string
  readonly batches: Map<string, Json>
  /** Of the next batches. */
  taking: Taking
  /** Requests to start a batch. */
  starts: number
  /** Ends a batch, the newest where none is named; its lines are those of its output file. */
  end(fields: Json, lines?: readonly object[], id?: string): void
  stop(): Promise<void>
}

/** On a free port. */
export function startBatchUpstream(): BatchUpstream {
  const files = new Map<string, string>()
  const batches = new Map<string, Json>()
  let count = 0
  const shown = (id: string) => ({ id, object: 'file', bytes: 1, created_at: 1, filename: 'x', purpose: 'batch' })
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const [, , kind, id, rest] = pathname.split('/')
      if (kind === 'files' && request.method === 'POST') {
        const made = `file-up${++count}`
        files.set(made, await ((await request.formData()).get('file') as unknown as File).text())
        return Response.json(shown(made))
      }
      if (kind === 'files') return rest === 'content' ? new Response(files.get(id!)) : Response.json(shown(id!))
      if (request.method === 'POST' && id === undefined) return takeBatch((await request.json()) as Json, request)
      if (id === undefined)
        return Response.json({ object: 'list', data: [...batches.values()].reverse(), has_more: false })
      const batch = batches.get(id)
      if (!batch) return Response.json({ error: { message: 'No such batch' } }, { status: 404 })
      if (rest === 'cancel') batches.set(id, { ...batch, status: 'cancelled' })
      return Response.json(batches.get(id))
    },
  })
  async function takeBatch(fields: Json, request: Request): Promise<Response> {
    upstream.starts++
    if (upstream.taking === 'refuses') return Response.json({ error: { message: 'no' } }, { status: 400 })
    if (upstream.taking === 'fails') return Response.json({ error: { message: 'down' } }, { status: 500 })
    const id = `batch_up${++count}`
    const batch = { id, object: 'batch', status: 'validating', created_at: Math.floor(Date.now() / 1000), ...fields }
    batches.set(id, batch)
    if (upstream.taking === 'hangs')
      await new Promise(resolve => request.signal.addEventListener('abort', resolve, { once: true }))
    return upstream.taking === 'cuts' ? new Response('{"id": ', { status: 200 }) : Response.json(batch)
  }
  const upstream: BatchUpstream = {
    url: `http://127.0.0.1:${server.port}/v1`,
    batches,
    taking: 'answers',
    starts: 0,
    end(fields, lines, id = [...batches.keys()].at(-1)!) {
      const output = `file-up${++count}`
      if (lines) files.set(output, lines.map(line => JSON.stringify(line)).join('\n'))
      batches.set(id, { ...batches.get(id), status: 'completed', ...(lines && { output_file_id: output }), ...fields })
    },
    stop: () => server.stop(true),
  }
  return upstream
}
