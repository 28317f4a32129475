/**
 * OpenAI's batches: https://platform.openai.com/docs/api-reference/batch. A batch is `validating` when it is made, and
 * has ended with the next look at it.
 */
import { hash } from '../../generation/random.ts'
import { isJsonObject } from '../../lib/json.ts'
import type { JsonObject } from '../../lib/json.ts'
import { ApiError, jsonResponse } from '../response.ts'
import type { SimulatedResponse } from '../response.ts'
import type { HttpRequest } from '../../server/request-parser.ts'
import { createdS } from './chat.ts'
import type { UploadedFiles } from './files.ts'

const endpoints = ['/v1/responses', '/v1/chat/completions', '/v1/embeddings', '/v1/completions', '/v1/moderations']

/** The answer to one line: its status and JSON. */
export type AnswerLine = (path: string, body: JsonObject) => { status: number; body: unknown }

interface Line {
  readonly custom_id: string
  readonly method: string
  readonly url: string
  readonly body: JsonObject
}

/** One per simulator, over its files. Ids are determined by the seed and the number of batches since `clear`. */
export class Batches {
  readonly #files: UploadedFiles
  readonly #seed: number
  /** Newest last. */
  readonly #batches = new Map<string, JsonObject>()

  constructor(files: UploadedFiles, seed: number) {
    this.#files = files
    this.#seed = seed
  }

  clear(): void {
    this.#batches.clear()
  }

  /** Throws ApiError. */
  answer({ method, target }: HttpRequest, body: unknown, line: AnswerLine): SimulatedResponse {
    const [, id, action] = /\/batches(?:\/([^/]+)(?:\/(cancel))?)?$/.exec(target.split('?', 1)[0]!)!
    if (id === undefined) {
      if (method === 'POST') return jsonResponse(this.#start(isJsonObject(body) ? body : {}))
      return jsonResponse({ object: 'list', data: [...this.#batches.values()].reverse(), has_more: false })
    }
    const batch = this.#batches.get(decodeURIComponent(id))
    if (!batch) throw new ApiError(`No batch found with id '${id}'.`, { status: 404, param: 'id' })
    if (action === 'cancel') {
      if (batch.status !== 'validating')
        throw new ApiError(`Cannot cancel a batch with status '${String(batch.status)}'.`, { status: 409 })
      Object.assign(batch, { status: 'cancelled', cancelling_at: createdS, cancelled_at: createdS })
    } else if (batch.status === 'validating') this.#run(batch, line)
    return jsonResponse(batch)
  }

  #start(body: JsonObject): JsonObject {
    const { input_file_id: fileId, endpoint, completion_window: window, metadata = null } = body
    const file = typeof fileId === 'string' ? this.#files.find(fileId) : undefined
    if (!file) throw new ApiError(`Invalid 'input_file_id': no such File object: ${String(fileId)}`)
    if (file.object.purpose !== 'batch')
      throw new ApiError(`Invalid file purpose. Expected 'batch', but got '${String(file.object.purpose)}'.`)
    if (typeof endpoint !== 'string' || !endpoints.includes(endpoint))
      throw new ApiError(`Invalid value: '${String(endpoint)}'. Supported values are: ${endpoints.join(', ')}.`, {
        param: 'endpoint',
      })
    if (window !== '24h')
      throw new ApiError(`Invalid value: '${String(window)}'. Supported values are: '24h'.`, {
        param: 'completion_window',
      })
    const id = `batch_${hash(`batch ${this.#batches.size}`, this.#seed).toString(16).padStart(8, '0')}`
    const batch = {
      id,
      object: 'batch',
      endpoint,
      errors: null,
      input_file_id: fileId,
      completion_window: window,
      status: 'validating',
      output_file_id: null,
      error_file_id: null,
      created_at: createdS,
      expires_at: createdS + 86_400,
      request_counts: { total: 0, completed: 0, failed: 0 },
      metadata,
    }
    this.#batches.set(id, batch)
    return batch
  }

  #run(batch: JsonObject, answer: AnswerLine): void {
    const { content } = this.#files.find(String(batch.input_file_id))!
    const lines = readLines(content, String(batch.endpoint))
    if (!Array.isArray(lines)) {
      Object.assign(batch, { status: 'failed', failed_at: createdS, errors: { object: 'list', data: [lines] } })
      return
    }
    const results = lines.map((line, at) => {
      const response = answer(line.url, line.body)
      return {
        id: `batch_req_${at}`,
        custom_id: line.custom_id,
        response: { status_code: response.status, request_id: `req_${at}`, body: response.body },
        error: null,
      }
    })
    const store = (chosen: typeof results, what: string): unknown =>
      chosen.length === 0
        ? null
        : this.#files.add({
            content: Buffer.from(chosen.map(one => `${JSON.stringify(one)}\n`).join('')),
            filename: `${String(batch.id)}_${what}.jsonl`,
            purpose: 'batch_output',
          }).id
    const good = results.filter(one => one.response.status_code === 200)
    const bad = results.filter(one => one.response.status_code !== 200)
    Object.assign(batch, {
      status: 'completed',
      in_progress_at: createdS,
      completed_at: createdS,
      output_file_id: store(good, 'output'),
      error_file_id: store(bad, 'error'),
      request_counts: { total: results.length, completed: good.length, failed: bad.length },
    })
  }
}

/** The lines, or what is wrong with the first bad one. */
function readLines(content: Uint8Array, endpoint: string): Line[] | JsonObject {
  const lines: Line[] = []
  for (const [at, text] of Buffer.from(content).toString('utf8').split('\n').entries()) {
    if (text.trim() === '') continue
    const problem = (code: string, message: string): JsonObject => ({ code, message, param: null, line: at + 1 })
    let line: unknown
    try {
      line = JSON.parse(text)
    } catch {
      return problem('invalid_json_line', 'This line is not parseable as valid JSON.')
    }
    if (!isJsonObject(line) || typeof line.custom_id !== 'string' || !isJsonObject(line.body))
      return problem('invalid_request', 'A line needs `custom_id`, `method`, `url` and `body`.')
    if (line.method !== 'POST') return problem('invalid_method', `Invalid method '${String(line.method)}'.`)
    if (line.url !== endpoint)
      return problem('mismatched_endpoint', `The URL '${String(line.url)}' is not the endpoint of the batch.`)
    if (lines.some(one => one.custom_id === line.custom_id))
      return problem('duplicate_custom_id', `The custom_id '${line.custom_id}' was already used.`)
    lines.push(line as unknown as Line)
  }
  return lines.length > 0 ? lines : { code: 'empty_file', message: 'The file has no lines.', param: null, line: null }
}
