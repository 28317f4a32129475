/**
 * OpenAI's files: https://platform.openai.com/docs/api-reference/files. Kept until a reset; calls do not look at them.
 */
import { ApiError, jsonResponse, unbilled } from '../response.ts'
import { isJsonObject } from '../../lib/json.ts'
import type { SimulatedResponse } from '../response.ts'
import type { JsonObject } from '../../lib/json.ts'
import { contentOf } from '../../server/request-body.ts'
import type { FormFile } from '../../server/request-body.ts'
import { createdS } from './chat.ts'
import { hash } from '../../generation/random.ts'
import type { HttpRequest } from '../../server/request-parser.ts'

/** Purposes whose content OpenAI lets clients download. */
const downloadable = new Set(['batch', 'batch_output', 'fine-tune-results', 'vision'])

/** A file with what is said of it. */
export interface UploadedFile {
  readonly object: JsonObject
  readonly content: Uint8Array
}

/** One per simulator. Ids are determined by the seed and the number of files since the last `clear`. */
export class UploadedFiles {
  readonly #seed: number
  readonly #files = new Map<string, UploadedFile>()
  #count = 0

  constructor(seed: number) {
    this.#seed = seed
  }

  clear(): void {
    this.#files.clear()
    this.#count = 0
  }

  /** Throws ApiError. `body` = the fields of a form. */
  answer({ method, target }: HttpRequest, body: unknown): SimulatedResponse {
    const [, id, action] = /\/files(?:\/([^/]+)(?:\/(content))?)?$/.exec(target.split('?', 1)[0]!)!
    if (id === undefined) {
      if (method === 'POST') return jsonResponse(this.#upload(body))
      if (method === 'GET')
        return jsonResponse({
          object: 'list',
          data: [...this.#files.values()].map(file => file.object).reverse(),
          has_more: false,
        })
      throw wrongMethod(method, target)
    }
    const file = this.#files.get(decodeURIComponent(id))
    if (!file) throw new ApiError(`No such File object: ${id}`, { status: 404, param: 'id' })
    if (method === 'GET') return action === 'content' ? content(file) : jsonResponse(file.object)
    if (method !== 'DELETE' || action !== undefined) throw wrongMethod(method, target)
    this.#files.delete(decodeURIComponent(id))
    return jsonResponse({ id: file.object.id, object: 'file', deleted: true })
  }

  #upload(body: unknown): JsonObject {
    const { file, purpose } = isJsonObject(body) ? body : {}
    const bytes = contentOf(file)
    if (!bytes) throw new ApiError("'file' is a required property")
    if (typeof purpose !== 'string') throw new ApiError("'purpose' is a required property")
    const { filename } = file as FormFile
    return this.add({ content: bytes, filename, purpose })
  }

  find(id: string): UploadedFile | undefined {
    return this.#files.get(id)
  }

  /** Stores a file; returns what is said of it. */
  add({ content: bytes, filename, purpose }: { content: Uint8Array; filename: string; purpose: string }): JsonObject {
    const id = `file-${[0, 1, 2]
      .map(part =>
        hash(`file ${++this.#count} ${part}`, this.#seed)
          .toString(36)
          .padStart(7, '0'),
      )
      .join('')}`
    const object = {
      id,
      object: 'file',
      bytes: bytes.length,
      created_at: createdS,
      expires_at: null,
      filename,
      purpose,
      status: 'processed',
      status_details: null,
    }
    this.#files.set(id, { object, content: bytes })
    return object
  }
}

function content({ object, content: bytes }: UploadedFile): SimulatedResponse {
  const purpose = String(object.purpose)
  if (!downloadable.has(purpose)) throw new ApiError(`Not allowed to download files of purpose: ${purpose}`)
  return {
    status: 200,
    headers: [['content-type', 'application/octet-stream']],
    content: bytes,
    billable: unbilled,
  }
}

function wrongMethod(method: string, target: string): ApiError {
  return new ApiError(
    `Not allowed to ${method} on ${target} (HINT: Perhaps you meant to use a different HTTP method?)`,
    { status: 405 },
  )
}
