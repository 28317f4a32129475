/** OpenAI's files: https://platform.openai.com/docs/api-reference/files. They are kept until a reset; no call looks for them. */
import { BadRequest, isJson, jsonAnswer, nothingToBill } from '../../generation/types.ts'
import type { Answer, Json } from '../../generation/types.ts'
import { contentOf } from '../../server/request-body.ts'
import type { FormFile } from '../../server/request-body.ts'
import { createdS } from './chat.ts'
import { hash } from '../../generation/random.ts'
import type { HttpRequest } from '../../server/request-parser.ts'

/** What a vendor hands out again; files for its models to read are not among them. */
const downloadable = new Set(['batch', 'batch_output', 'fine-tune-results', 'vision'])

interface KeptFile {
  readonly object: Json
  readonly content: Uint8Array
}

/** One per simulator. Identifiers follow from the seed and the count of files since the last `clear`. */
export class KeptFiles {
  readonly #seed: number
  readonly #files = new Map<string, KeptFile>()
  #count = 0

  constructor(seed: number) {
    this.#seed = seed
  }

  clear(): void {
    this.#files.clear()
    this.#count = 0
  }

  /** Throws BadRequest. `body` = the fields of a form. */
  answer({ method, target }: HttpRequest, body: unknown): Answer {
    const [, id, action] = /\/files(?:\/([^/]+)(?:\/(content))?)?$/.exec(target.split('?', 1)[0]!)!
    if (id === undefined) {
      if (method === 'POST') return jsonAnswer(this.#keep(body))
      if (method === 'GET')
        return jsonAnswer({
          object: 'list',
          data: [...this.#files.values()].map(file => file.object).reverse(),
          has_more: false,
        })
      throw wrongMethod(method, target)
    }
    const file = this.#files.get(decodeURIComponent(id))
    if (!file) throw new BadRequest(`No such File object: ${id}`, { status: 404, param: 'id' })
    if (method === 'GET') return action === 'content' ? content(file) : jsonAnswer(file.object)
    if (method !== 'DELETE' || action !== undefined) throw wrongMethod(method, target)
    this.#files.delete(decodeURIComponent(id))
    return jsonAnswer({ id: file.object.id, object: 'file', deleted: true })
  }

  #keep(body: unknown): Json {
    const { file, purpose } = isJson(body) ? body : {}
    const bytes = contentOf(file)
    if (!bytes) throw new BadRequest("'file' is a required property")
    if (typeof purpose !== 'string') throw new BadRequest("'purpose' is a required property")
    const id = `file-${[0, 1, 2]
      .map(part =>
        hash(`file ${++this.#count} ${part}`, this.#seed)
          .toString(36)
          .padStart(7, '0'),
      )
      .join('')}`
    const { filename } = file as FormFile
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

function content({ object, content: bytes }: KeptFile): Answer {
  const purpose = String(object.purpose)
  if (!downloadable.has(purpose)) throw new BadRequest(`Not allowed to download files of purpose: ${purpose}`)
  return {
    status: 200,
    headers: [['content-type', 'application/octet-stream']],
    content: bytes,
    billable: nothingToBill,
  }
}

function wrongMethod(method: string, target: string): BadRequest {
  return new BadRequest(
    `Not allowed to ${method} on ${target} (HINT: Perhaps you meant to use a different HTTP method?)`,
    { status: 405 },
  )
}
