/** Holds answers of a gateway against the document that it serves: bodies, events of streams, headers, statuses. */
import Ajv2020 from 'ajv/dist/2020'
import type { ValidateFunction } from 'ajv/dist/2020'
import addFormats from 'ajv-formats'

type Json = Record<string, unknown>

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, object>> }
  readonly responses: Readonly<Record<string, Json>>
}

export interface ApiDocument {
  readonly openapi: string
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<
    Record<'schemas' | 'responses' | 'headers' | 'securitySchemes', Readonly<Record<string, Json>>>
  >
}

interface Response200 {
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content: Readonly<Record<string, { readonly schema: object }>>
}

export interface Step {
  readonly method: string
  /** As in the document. */
  readonly path: string
}

/** Headers of every answer, of the wire or of browsers. */
const ordinaryHeaders = new Set([
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'cache-control',
  'content-security-policy',
  'cross-origin-resource-policy',
  'referrer-policy',
  'x-frame-options',
  'x-content-type-options',
])

/**
 * The same with every object closed whose fields are listed, unless it says that it has others: an answer must not hold
 * what the document does not name.
 */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const made = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]))
  return 'properties' in made && !('additionalProperties' in made) ? { ...made, additionalProperties: false } : made
}

export class ApiDocumentCheck {
  readonly document: ApiDocument
  /** `METHOD path media/type` of every success that was held against the document. */
  readonly seen = new Set<string>()
  /** Schemas are compiled for a few answers each: small code that is made soon beats fast code. */
  readonly #ajv = new Ajv2020({ strict: false, inlineRefs: false, code: { optimize: false } })
  readonly #validators = new Map<string, ValidateFunction>()

  constructor(document: ApiDocument) {
    this.document = document
    addFormats(this.#ajv)
    this.#ajv.addSchema({ $id: 'api', components: { schemas: closed(document.components.schemas) } } as object)
  }

  operation({ method, path }: Step): Operation {
    const found = this.document.paths[path]?.[method.toLowerCase()]
    if (!found) throw new Error(`the document has no ${method} ${path}`)
    return found
  }

  /** The documented response of this status; `default` does not count. */
  #responseOf(step: Step, status: number): Response200 {
    const found = this.operation(step).responses[status]
    if (!found) throw new Error(`${step.method} ${step.path} does not document status ${status}`)
    const { $ref } = found
    return (typeof $ref === 'string' ? this.document.components.responses[$ref.split('/').at(-1)!] : found) as never
  }

  #validate(what: string, schema: object, value: unknown): void {
    const text = JSON.stringify(closed(schema)).replaceAll('"#/components', '"api#/components')
    let validator = this.#validators.get(text)
    if (!validator) this.#validators.set(text, (validator = this.#ajv.compile(JSON.parse(text) as object)))
    if (validator(value)) return
    const problems = (validator.errors ?? []).map(
      error => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
    )
    throw new Error(`${what} does not fit:\n${problems.join('\n')}\n${JSON.stringify(value)?.slice(0, 3000)}`)
  }

  #checkHeaders(what: string, response: Response, documented: Response200): void {
    const known = new Set(Object.keys(documented.headers ?? {}))
    const unknown = [...response.headers.keys()].filter(name => !known.has(name) && !ordinaryHeaders.has(name))
    if (unknown.length > 0) throw new Error(`${what} has headers that are not documented: ${unknown.join(', ')}`)
  }

  /** Throws when the body of a success is not as documented. */
  checkBody(step: Step, value: unknown): void {
    const { responses } = this.operation(step)
    const { content } = (responses[200] ?? responses[201]) as unknown as Response200
    const [body] = Object.entries(content).flatMap(([type, one]) => (/[/+]json$/.test(type) ? [one] : []))
    if (!body) throw new Error(`${step.method} ${step.path} documents no JSON`)
    this.#validate(`the body of ${step.method} ${step.path}`, body.schema, value)
  }

  /** Throws when status, headers or body are not as documented. Gives the body: JSON, events of a stream, or text. */
  async check(step: Step, response: Response): Promise<unknown> {
    const what = `${response.status} of ${step.method} ${step.path}`
    const documented = this.#responseOf(step, response.status)
    if (response.status === 204) {
      this.seen.add(`${step.method} ${step.path}`)
      return undefined
    }
    const type = response.headers.get('content-type')?.split(';', 1)[0] ?? ''
    const range = [type, `${type.split('/', 1)[0]}/*`, '*/*'].find(one => documented.content[one])
    const body = range && documented.content[range]
    if (!body) {
      const text = (await response.text()).slice(0, 1000)
      throw new Error(`${what} has the media type ${type}, which is not documented: ${text}`)
    }
    this.#checkHeaders(what, response, documented)
    if (response.ok) this.seen.add(`${step.method} ${step.path} ${range}`)
    if (type === 'text/event-stream') {
      const events = eventsOf(await response.text())
      if (events.length === 0) throw new Error(`${what} has no events`)
      for (const event of events) this.#validate(`an event of ${what}`, body.schema, event)
      return events
    }
    const value = /[/+]json$/.test(type) ? await response.json() : await response.text()
    this.#validate(`the body of ${what}`, body.schema, value)
    return value
  }
}

/** The data of server-sent events: JSON, or text that is none. */
function eventsOf(text: string): unknown[] {
  return text
    .split('\n\n')
    .map(block =>
      block
        .split('\n')
        .filter(line => line.startsWith('data:'))
        .map(line => line.slice(5).trim())
        .join('\n'),
    )
    .filter(data => data !== '')
    .map(data => (data === '[DONE]' ? data : (JSON.parse(data) as unknown)))
}
