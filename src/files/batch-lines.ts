/**
 * The lines of a batch's input file (OpenAI, "Batch API", "Preparing your batch file"): checked, with the upstream's
 * model names.
 */
import { allBlocked } from '../core/blocked-model.ts'
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import type { AdmittedLine, Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import { accountOf } from '../core/objects/files.ts'
import type { FileRecord } from '../core/objects/file-records.ts'
import type { Format } from '../core/format.ts'
import {
  openaiChat,
  openaiCompletions,
  openaiEmbeddings,
  openaiImages,
  openaiModerations,
  openaiResponses,
} from '../formats/index.ts'
import { JsonBody, JsonBodyError } from '../lib/json/json-body.ts'
import { callable } from './upstreams.ts'

/** OpenAI's own limit. */
const linesMax = 50_000
const idLengthMax = 512
const shownMax = 100

/** The paths that lines may call; undefined = the body is a form on that path, so its JSON is not checked. */
const formats: Readonly<Record<string, Format | undefined>> = {
  'chat/completions': openaiChat,
  completions: openaiCompletions,
  responses: openaiResponses,
  embeddings: openaiEmbeddings,
  moderations: openaiModerations,
  'images/generations': openaiImages,
  'images/edits': undefined,
  'audio/transcriptions': undefined,
  'audio/translations': undefined,
}
/** With and without `/v1`, as vendors document them. A vendor refuses paths that its batches do not support. */
const urls: ReadonlyMap<string, { readonly route: string; readonly format: Format | undefined }> = new Map(
  Object.entries(formats).flatMap(([path, format]) => {
    const route = `/v1/${path}`
    return [
      [route, { route, format }],
      [`/${path}`, { route, format }],
    ]
  }),
)

/** What the requests of one model can cost together; null = not known. */
interface Bound {
  readonly requests: number
  readonly nanoUsd: bigint | null
}

/** For one file, line by line in order. Holds every `custom_id` (at most 50,000, OpenAI's limit) and no line. */
export class BatchLines {
  readonly #services: Services
  readonly #call: Call
  readonly #account: string | undefined
  readonly #ids = new Set<string>()
  readonly #models = new Map<string, Bound>()

  constructor(services: Services, call: Call, upstream: Deployment) {
    this.#services = services
    this.#call = call
    this.#account = accountOf(upstream)
  }

  /** The public models that the lines call. */
  get models(): string[] {
    return [...this.#models.keys()]
  }

  /** What their requests can cost. */
  get bounds(): NonNullable<FileRecord['bounds']> {
    const shown = ({ requests, nanoUsd }: Bound) => ({ requests, nanoUsd: nanoUsd === null ? null : String(nanoUsd) })
    return Object.fromEntries([...this.#models].map(([model, bound]) => [model, shown(bound)]))
  }

  get count(): number {
    return this.#ids.size
  }

  /**
   * The pieces of the line with the upstream's name of its model; other bytes as they are, unless a policy changes
   * them. Rejects with 400, 403 or 422 and the line's number, also with what a policy refuses.
   */
  async rewrite(line: Uint8Array, number: number): Promise<readonly Uint8Array[]> {
    const request = this.#checked(line, number)
    const { route, format } = urls.get(request.get('url') as string)!
    const body = readObject(Buffer.from(request.rawText('body')!, 'utf8'), number, '`body`')
    const model = body.get('model')
    if (typeof model !== 'string' || model === '')
      throw refused(number, '`body.model` is missing; name one of GET /v1/models')
    const admitted = await this.#services
      .admitLine(this.#call, { route, format, body })
      .catch(error => inLine(error, number))
    const deployment = this.#deploymentOf(model, admitted, number)
    const { target } = deployment
    const name = target.provider.files?.modelName?.(target) ?? target.model
    this.#count(model, admitted.boundAt(deployment))
    const sent = bodyFor(admitted, deployment, number)
    const renamed = sent.edited([{ set: 'model', json: JSON.stringify(name) }])
    return request.edited([{ set: 'body', json: Buffer.concat(renamed).toString('utf8') }])
  }

  #count(model: string, nanoUsd: bigint | null): void {
    const known = this.#models.get(model) ?? { requests: 0, nanoUsd: 0n }
    const sum = known.nanoUsd === null || nanoUsd === null ? null : known.nanoUsd + nanoUsd
    this.#models.set(model, { requests: known.requests + 1, nanoUsd: sum })
  }

  #checked(line: Uint8Array, number: number): JsonBody {
    if (this.#ids.size === linesMax) throw refused(number, `a batch takes at most ${linesMax} requests; make several`)
    const request = readObject(line, number, 'it')
    const id = request.get('custom_id')
    if (typeof id !== 'string' || id === '' || id.length > idLengthMax)
      throw refused(number, `\`custom_id\` must be a text of 1 to ${idLengthMax} characters`)
    if (this.#ids.has(id)) throw refused(number, `\`custom_id\` '${id.slice(0, shownMax)}' is there twice`)
    this.#ids.add(id)
    if (request.get('method') !== 'POST') throw refused(number, '`method` must be "POST"')
    const url = request.get('url')
    if (typeof url !== 'string' || !urls.has(url))
      throw refused(
        number,
        `\`url\` must be one of ${[...urls.keys()].filter(one => one.startsWith('/v1')).join(', ')}`,
      )
    if (request.rawText('body') === undefined) throw refused(number, '`body` is missing; it is the request of `url`')
    return request
  }

  #deploymentOf(model: string, { candidates }: AdmittedLine, number: number): Deployment {
    // Without a format the policies have not looked up the candidates.
    const found = candidates.length > 0 ? candidates : callable(this.#call, model)
    if (typeof found === 'string') throw refused(number, found)
    const sameAccount = found.find(one => accountOf(one) === this.#account)
    if (sameAccount?.blocked) throw refused(number, allBlocked(model).message)
    if (sameAccount) return sameAccount
    throw refused(
      number,
      `the model '${model.slice(0, shownMax)}' is not at the upstream that this file goes to; ` +
        'a batch runs at one upstream',
    )
  }
}

function bodyFor(admitted: AdmittedLine, deployment: Deployment, number: number): JsonBody {
  try {
    return admitted.bodyFor(deployment)
  } catch (error) {
    return inLine(error, number)
  }
}

/** The same error with the number of the line. */
function inLine(error: unknown, number: number): never {
  if (!(error instanceof GatewayError) || error.kind === 'internal') throw error
  const { kind, message, cause } = error
  // These are about the file's content, so the status must not say that the path or the file is missing.
  if (kind === 'model-not-found' || kind === 'model-forbidden' || kind === 'unprocessable')
    throw refused(number, message)
  throw new GatewayError(kind, `line ${number} of the file: ${message}`, { param: 'file', cause })
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
