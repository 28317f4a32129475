/** Validates scripts when they are added: a misspelt field would otherwise silently match every request, or none. */
import { isJsonObject } from '../lib/json.ts'
import type { JsonObject } from '../lib/json.ts'
import { parseFault, UnknownFault } from '../faults/fault.ts'
import { answerStatuses, isAnswerStatus, isHeaderName, isHeaderValue } from '../server/http-syntax.ts'
import { suggestion } from '../lib/did-you-mean.ts'

/** An invalid script; the message names the field, the problem and the remedy. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError'
  /** Path of the field: `reply.toolCalls[0].name`. */
  readonly field: string
  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** Throws ScriptError. */
type Check = (value: unknown, field: string) => void

function invalidField(field: string, expected: string, value: unknown): ScriptError {
  return new ScriptError(field, `"${field}" must be ${expected}; got ${describe(value)}`)
}

function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'function' ? 'a function' : (JSON.stringify(value) ?? typeof value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

/** An object with these fields and no others; `required` fields must be present. */
function object(fields: Readonly<Record<string, Check>>, required: readonly string[] = []): Check {
  const names = Object.keys(fields)
  return (value, field) => {
    const where = (name: string) => (field === '' ? name : `${field}.${name}`)
    if (!isJsonObject(value))
      throw invalidField(field === '' ? 'body' : field, `an object of ${names.join(', ')}`, value)
    for (const name of Object.keys(value))
      if (!names.includes(name)) {
        const hint = suggestion(name, names)
        throw new ScriptError(where(name), `"${where(name)}" is not known${hint}; there are: ${names.join(', ')}`)
      }
    for (const name of names) {
      if (value[name] !== undefined) fields[name]!(value[name], where(name))
      else if (required.includes(name)) throw new ScriptError(where(name), `"${where(name)}" is missing`)
    }
  }
}

function listOf(check: Check): Check {
  return (value, field) => {
    if (!Array.isArray(value)) throw invalidField(field, 'a list', value)
    for (const [at, one] of value.entries()) check(one, `${field}[${at}]`)
  }
}

const anything: Check = () => {}

const text: Check = (value, field) => {
  if (typeof value !== 'string') throw invalidField(field, 'a text', value)
}

const filledText: Check = (value, field) => {
  if (typeof value !== 'string' || value === '') throw invalidField(field, 'a text that is not empty', value)
}

function oneOf(...words: string[]): Check {
  return (value, field) => {
    if (!words.includes(value as string)) throw invalidField(field, `one of ${words.join(', ')}`, value)
  }
}

/** A text to search for. The empty text would match every request. */
const part: Check = (value, field) => {
  if (value instanceof RegExp) return
  if (value === '')
    throw new ScriptError(field, `"${field}" is empty and would fit every request; leave it out to mean that`)
  text(value, field)
}

const modelName: Check = (value, field) => {
  if (value instanceof RegExp) return
  text(value, field)
  if ((value as string).includes('#'))
    throw new ScriptError(field, `"${field}" is compared with the name before the "#"; leave the fault out`)
}

/** Header names and values, both checked for their syntax. */
const headers: Check = (value, field) => {
  if (!isJsonObject(value)) throw invalidField(field, 'an object of texts by header name', value)
  for (const [name, one] of Object.entries(value)) {
    if (!isHeaderName(name))
      throw new ScriptError(`${field}.${name}`, `"${field}" has ${describe(name)}, which is no header name`)
    if (typeof one !== 'string' || !isHeaderValue(one))
      throw invalidField(`${field}.${name}`, 'a text of printable ASCII', one)
  }
}

const sentHeaders: Check = (value, field) => {
  headers(value, field)
  for (const [name, one] of Object.entries(value as JsonObject)) {
    const lower = name.toLowerCase()
    if (lower === 'transfer-encoding' || lower === 'connection')
      throw new ScriptError(
        `${field}.${name}`,
        `"${field}.${name}" is the simulator's own; for broken framing give a \`fault\``,
      )
    if (lower === 'content-length' && !/^\d{1,15}$/.test(one as string))
      throw invalidField(`${field}.${name}`, 'a number of bytes', one)
  }
}

const fault: Check = (value, field) => {
  text(value, field)
  try {
    parseFault(value as string)
  } catch (error) {
    if (!(error instanceof UnknownFault)) throw error
    throw new ScriptError(field, `"${field}": ${error.message}`)
  }
}

const times: Check = (value, field) => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
    throw invalidField(field, 'a whole number from 1; leave it out for all requests', value)
}

const status: Check = (value, field) => {
  if (!isAnswerStatus(value)) throw invalidField(field, answerStatuses, value)
}

const rawBody: Check = (value, field) => {
  if (typeof value === 'string' || value instanceof Uint8Array) return
  throw invalidField(field, 'a text, sent as it is; for JSON write it as text', value)
}

const base64: Check = (value, field) => {
  if (typeof value === 'string' && value !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(value)) return
  throw invalidField(field, 'base64', value)
}

const mediaType: Check = (value, field) => {
  if (typeof value !== 'string' || !/^[\w.+-]+\/[\w.+-]+$/.test(value))
    throw invalidField(field, 'a media type such as image/png', value)
}

const match = object({ model: modelName, path: part, text: part, headers })

const replyFields = object({
  text,
  reasoning: text,
  toolCalls: listOf(object({ name: filledText, arguments: anything, id: filledText }, ['name'])),
  images: listOf(object({ data: base64, mediaType }, ['data'])),
  finish: oneOf('stop', 'length', 'tool-calls', 'content-filter'),
  raw: object({ status, headers: sentHeaders, body: rawBody }, ['body']),
  fault,
  times,
})

const reply: Check = (value, field) => {
  replyFields(value, field)
  const { raw, fault: _, times: __, ...rest } = value as JsonObject
  const [conflicting] = Object.keys(rest).filter(name => rest[name] !== undefined)
  if (raw !== undefined && conflicting !== undefined)
    throw new ScriptError(
      `${field}.${conflicting}`,
      `"${field}.${conflicting}" is not said beside "${field}.raw"; leave one of them out`,
    )
}

const script = object({ match, reply }, ['match', 'reply'])

/**
 * Throws ScriptError unless the script is `{match, reply}` as documented. Matcher functions exist only within this
 * process.
 */
export function checkScript(given: { match: unknown; reply: unknown }): void {
  if (typeof given.match !== 'function') return script(given, '')
  reply(given.reply, 'reply')
}

/** Checks the body of `POST /__script`, which may be anything. Throws ScriptError. */
export function readScript(body: unknown, isRead: boolean): { match: JsonObject; reply: JsonObject } {
  if (!isRead)
    throw new ScriptError(
      'body',
      `the body is ${body === undefined ? 'empty' : 'no JSON'}; send {"match": {...}, "reply": {...}}`,
    )
  script(body, '')
  return body as { match: JsonObject; reply: JsonObject }
}
