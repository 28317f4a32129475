/**
 * Files and batches of an in-process provider: kept in the memory of this process, limited, and lost when it ends. In
 * OpenAI's shapes (API reference, "Files" and "Batch"), so that every other part treats it like an upstream.
 */
import { randomUUIDv7 } from 'bun'
import type { FileCall } from '../../core/objects/files.ts'
import type { Dialect, InProcessAnswer, Target } from '../../core/provider.ts'
import type { BodyPiece } from '../../core/transport.ts'
import type { Upload } from '../../core/upload.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Json } from '../../lib/json/json-values.ts'

const fileBytesMax = 16 * 1024 * 1024
const bytesMax = 64 * 1024 * 1024
const objectsMax = 1000
/** Each has its lines in memory until it has ended. */
const runningMax = 8
/** Lines of a batch that are answered in one turn of the event loop. */
const linesPerTurn = 20

interface KeptFile {
  readonly object: Json
  readonly content: Buffer
}

/** A running batch: its public object, and its open lines. */
interface Run {
  readonly object: Json
  readonly target: Target
  readonly lines: readonly string[]
  readonly results: Results
}

/** The operations of lines, by their `url`. */
const dialects: ReadonlyMap<string, Dialect> = new Map<string, Dialect>([
  ['chat/completions', 'openai-chat'],
  ['completions', 'openai-completions'],
  ['embeddings', 'openai-embeddings'],
  ['moderations', 'openai-moderations'],
  ['images/generations', 'openai-images'],
])

/**
 * One per process. `answer` is like an upstream's: failures have a status and an error in OpenAI's shape. Batches
 * run in turns of the event loop, 20 lines in each.
 */
export class KeptFiles {
  readonly #clock: Clock
  readonly #files = new Map<string, KeptFile>()
  /** The public object of each batch. */
  readonly #batches = new Map<string, Json>()
  #bytes = 0
  #running = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  answer({ deployment, method, path, body }: FileCall): InProcessAnswer {
    const [, kind, id = '', action] = path.split('?')[0]!.split('/').map(decodeURIComponent)
    if (kind === 'files' && method === 'POST' && body && 'upload' in body) return this.#keepForm(body.upload)
    if (kind === 'batches' && method === 'POST' && body && 'json' in body && id === '')
      return this.#start(deployment.target, body.json as Json)
    const file = kind === 'files' ? this.#files.get(id) : undefined
    if (file && action === 'content')
      return { status: 200, contentType: 'application/octet-stream', pieces: [file.content] }
    if (file && method === 'DELETE') return this.#delete(id, file)
    if (file) return json(file.object)
    const batch = kind === 'batches' ? this.#batches.get(id) : undefined
    if (batch && action === 'cancel') return this.#cancel(batch)
    if (batch) return json(batch)
    return refused(
      404,
      `there is no such ${kind === 'files' ? 'file' : 'batch'} here any more: ` +
        'the built-in models keep theirs in memory',
    )
  }

  #nowS(): number {
    return Math.floor(this.#clock.epochMs() / 1000)
  }

  #keepForm({ parts }: Upload): InProcessAnswer {
    const file = parts.find(part => part.filename !== undefined)!
    if (file.bytes > fileBytesMax) return refused(413, `the built-in models take files of up to ${fileBytesMax} bytes`)
    const purpose = parts.find(part => part.name === 'purpose')
    return this.#keep(
      readAll(file.content, file.bytes),
      file.filename!,
      purpose ? readAll(purpose.content, purpose.bytes).toString('utf8') : 'user_data',
    )
  }

  #keep(content: Buffer, filename: string, purpose: string): InProcessAnswer {
    if (this.#bytes + content.length > bytesMax || this.#files.size >= objectsMax)
      return refused(413, `the built-in models keep ${bytesMax} bytes and ${objectsMax} files at most; delete some`)
    // Random, so that an id of before a restart never finds a new file.
    const id = `file-${randomUUIDv7()}`
    const object = {
      id,
      object: 'file',
      bytes: content.length,
      created_at: this.#nowS(),
      filename,
      purpose,
      status: 'processed',
    }
    this.#files.set(id, { object, content })
    this.#bytes += content.length
    return json(object)
  }

  #delete(id: string, file: KeptFile): InProcessAnswer {
    this.#files.delete(id)
    this.#bytes -= file.content.length
    return json({ id, object: 'file', deleted: true })
  }

  #start(target: Target, { input_file_id, endpoint, completion_window, metadata }: Json): InProcessAnswer {
    const input = this.#files.get(String(input_file_id))
    if (!input) return refused(404, 'the input file of the batch is not here any more')
    if (this.#running >= runningMax)
      return refused(429, `the built-in models run ${runningMax} batches at a time; try again in a moment`)
    if (this.#batches.size >= objectsMax) this.#batches.delete(this.#batches.keys().next().value!)
    const lines = input.content
      .toString('utf8')
      .split('\n')
      .filter(line => line.trim() !== '')
    const nowS = this.#nowS()
    const object: Json = {
      id: `batch_${randomUUIDv7()}`,
      object: 'batch',
      endpoint,
      errors: null,
      input_file_id,
      completion_window,
      status: 'in_progress',
      output_file_id: null,
      error_file_id: null,
      created_at: nowS,
      in_progress_at: nowS,
      expires_at: nowS + 86_400,
      finalizing_at: null,
      completed_at: null,
      failed_at: null,
      expired_at: null,
      cancelling_at: null,
      cancelled_at: null,
      request_counts: { total: lines.length, completed: 0, failed: 0 },
      metadata: metadata ?? null,
    }
    this.#batches.set(object.id as string, object)
    this.#running++
    setImmediate(() => this.#run({ object, target, lines, results: new Results() }))
    return json(object)
  }

  #run(run: Run): void {
    const { object, lines, target, results } = run
    if (object.status !== 'in_progress') return void this.#running--
    const until = Math.min(results.count + linesPerTurn, lines.length)
    while (results.count < until) results.add(answerLine(target, lines[results.count]!))
    object.request_counts = { total: lines.length, completed: results.count - results.failed, failed: results.failed }
    if (results.count < lines.length) return void setImmediate(() => this.#run(run))
    this.#running--
    object.usage = results.usage
    object.finalizing_at = this.#nowS()
    const problem = this.#keepResults(run)
    object[problem === undefined ? 'completed_at' : 'failed_at'] = object.finalizing_at
    object.status = problem === undefined ? 'completed' : 'failed'
    if (problem !== undefined)
      object.errors = {
        object: 'list',
        data: [{ code: 'no_room_for_results', message: problem, param: null, line: null }],
      }
  }

  /** undefined = they are stored; else the reason why not. Files stored so far are named nevertheless. */
  #keepResults({ object, results }: Run): string | undefined {
    const files = [
      ['output_file_id', results.output, 'output'],
      ['error_file_id', results.errors, 'error'],
    ] as const
    for (const [field, lines, name] of files) {
      if (lines.length === 0) continue
      const kept = this.#keep(
        Buffer.from(`${lines.join('\n')}\n`),
        `${String(object.id)}_${name}.jsonl`,
        'batch_output',
      )
      const answer = JSON.parse(String(kept.pieces[0])) as Json
      if (kept.status !== 200)
        return `the results of the batch cannot be kept: ${String((answer.error as Json).message)}`
      object[field] = answer.id
    }
    return undefined
  }

  #cancel(object: Json): InProcessAnswer {
    if (object.status !== 'in_progress')
      return refused(409, `the batch is ${String(object.status)}: it cannot be cancelled`)
    object.status = 'cancelled'
    object.cancelling_at = this.#nowS()
    object.cancelled_at = object.cancelling_at
    return json(object)
  }
}

/** The results of a batch's lines so far. */
class Results {
  readonly output: string[] = []
  readonly errors: string[] = []
  readonly usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }

  get count(): number {
    return this.output.length + this.errors.length
  }

  get failed(): number {
    return this.errors.length
  }

  add({ custom_id, status, body }: LineResult): void {
    const response = { status_code: status, request_id: randomUUIDv7(), body }
    const line = JSON.stringify({ id: `batch_req_${randomUUIDv7()}`, custom_id, response, error: null })
    if (status !== 200) return void this.errors.push(line)
    this.output.push(line)
    const { prompt_tokens, completion_tokens } = ((body as Json).usage ?? {}) as Json
    this.usage.input_tokens += Number(prompt_tokens ?? 0)
    this.usage.output_tokens += Number(completion_tokens ?? 0)
    this.usage.total_tokens = this.usage.input_tokens + this.usage.output_tokens
  }
}

interface LineResult {
  readonly custom_id: unknown
  readonly status: number
  readonly body: unknown
}

/** The lines were checked when the file was sent. */
function answerLine(target: Target, line: string): LineResult {
  const { custom_id, url, body } = JSON.parse(line) as { custom_id: unknown; url: string; body: Json }
  const { provider } = target
  const dialect = dialects.get(url.replace(/^\/(v1\/)?/, ''))
  const head = dialect && provider.speaks[dialect]?.(target, false)
  if (!head || !provider.answer)
    return { custom_id, status: 400, body: errorOf(400, `${url} cannot be asked in a batch of the built-in models`) }
  try {
    const answer = provider.answer(head, { ...body, stream: false })
    return { custom_id, status: answer.status, body: JSON.parse(answer.pieces.join('')) }
  } catch {
    // Of these lines only the model was checked: a call of its own would have been refused for its fields.
    return { custom_id, status: 400, body: errorOf(400, `the body is no request of ${url}`) }
  }
}

function readAll(content: readonly BodyPiece[], bytes: number): Buffer {
  const all = Buffer.alloc(bytes)
  let at = 0
  for (const piece of content) {
    if (piece instanceof Uint8Array) all.set(piece, at)
    else piece.file.read(all.subarray(at, at + piece.length), piece.offset)
    at += piece.length
  }
  return all
}

const json = (body: unknown): InProcessAnswer => ({
  status: 200,
  contentType: 'application/json',
  pieces: [JSON.stringify(body)],
})

const errorOf = (status: number, message: string) => ({
  error: { message, type: status === 404 ? 'not_found_error' : 'invalid_request_error', param: null, code: null },
})

const refused = (status: number, message: string): InProcessAnswer => ({
  status,
  contentType: 'application/json',
  pieces: [JSON.stringify(errorOf(status, message))],
})
