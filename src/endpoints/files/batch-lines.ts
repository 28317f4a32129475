/** The lines of a batch's input file (OpenAI, "Batch API", "Preparing your batch file"): checked, and said in the upstream's names. */
import type { Caller } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { accountOf } from '../../core/files.ts'
import { JsonBody, JsonBodyError } from '../../lib/json/json-body.ts'
import { callable } from './upstreams.ts'

/** OpenAI's own limit. */
const linesMax = 50_000
const idLengthMax = 512
const shownMax = 100

/** With and without `/v1`, as the vendors write them; what a vendor has no batches for it refuses by itself. */
const endpoints = new Set(
  [
    'chat/completions',
    'completions',
    'responses',
    'embeddings',
    'moderations',
    'images/generations',
    'images/edits',
    'audio/transcriptions',
    'audio/translations',
  ].flatMap(path => [`/v1/${path}`, `/${path}`]),
)

/** For one file, whose lines come in their order. Keeps each `custom_id` (OpenAI's limit is 50,000), and no line. */
export class BatchLines {
  readonly #services: Services
  readonly #caller: Caller
  readonly #account: string | undefined
  readonly #ids = new Set<string>()
  /** Public name -> the upstream's. */
  readonly #models = new Map<string, string>()

  constructor(services: Services, caller: Caller, upstream: Deployment) {
    this.#services = services
    this.#caller = caller
    this.#account = accountOf(upstream)
  }

  /** The public models that the lines call. */
  get models(): string[] {
    return [...this.#models.keys()]
  }

  get count(): number {
    return this.#ids.size
  }

  /** The pieces of the line with the upstream's name of its model; every other byte as it is. Throws 400 with the line's number. */
  rewrite(line: Uint8Array, number: number): readonly Uint8Array[] {
    if (this.#ids.size === linesMax) throw refused(number, `a batch takes at most ${linesMax} requests; make several`)
    const request = readObject(line, number, 'it')
    const id = request.get('custom_id')
    if (typeof id !== 'string' || id === '' || id.length > idLengthMax)
      throw refused(number, `\`custom_id\` must be a text of 1 to ${idLengthMax} characters`)
    if (this.#ids.has(id)) throw refused(number, `\`custom_id\` '${id.slice(0, shownMax)}' is there twice`)
    this.#ids.add(id)
    if (request.get('method') !== 'POST') throw refused(number, '`method` must be "POST"')
    const url = request.get('url')
    if (typeof url !== 'string' || !endpoints.has(url))
      throw refused(number, `\`url\` must be one of ${[...endpoints].filter(one => one.startsWith('/v1')).join(', ')}`)
    const text = request.rawText('body')
    if (text === undefined) throw refused(number, '`body` is missing; it is the request of `url`')
    const body = readObject(Buffer.from(text, 'utf8'), number, '`body`')
    const model = body.get('model')
    if (typeof model !== 'string' || model === '')
      throw refused(number, '`body.model` is missing; name one of GET /v1/models')
    const renamed = body.edited([{ set: 'model', json: JSON.stringify(this.#upstreamName(model, number)) }])
    return request.edited([{ set: 'body', json: Buffer.concat(renamed).toString('utf8') }])
  }

  #upstreamName(model: string, number: number): string {
    const known = this.#models.get(model)
    if (known !== undefined) return known
    const found = callable(this.#services, this.#caller, model)
    if (typeof found === 'string') throw refused(number, found)
    const there = found.find(one => accountOf(one) === this.#account)
    if (!there)
      throw refused(
        number,
        `the model '${model.slice(0, shownMax)}' is not at the upstream that this file goes to; a batch runs at one upstream`,
      )
    const { target } = there
    const name = target.provider.files?.modelName?.(target) ?? target.model
    this.#models.set(model, name)
    return name
  }
}

function readObject(bytes: Uint8Array, number: number, what: string): JsonBody {
  try {
    return JsonBody.read(bytes)
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause
    throw refused(number, `${what} is not a JSON object that can be taken: ${cause.message}`)
  }
}

function refused(number: number, reason: string): GatewayError {
  return new GatewayError('invalid-request', `line ${number} of the file: ${reason}`, { param: 'file' })
}
