/**
 * JSON answers from models without constrained decoding: the schema is put into the prompt, the answer is read
 * leniently and validated.
 */
import type { ChatRequest, ResponseFormat } from '../core/hub/chat.ts'
import type { ModelProfile } from '../core/deployment.ts'
import { unprocessable } from '../core/errors.ts'
import type { Emulation } from './decorate.ts'
import { schemaFaults, unknownReference } from '../lib/json/json-schema-faults.ts'
import { schemaProblems } from '../lib/json/json-schema.ts'
import { isJson } from '../lib/json/json-values.ts'
import { readLiteral, readLiteralAt } from '../lib/json/literal.ts'
import type { Literal } from '../lib/json/literal.ts'
import { withInstruction } from './messages.ts'
import { exactText, plainValue } from '../lib/json/exact-json.ts'

/** What an answer has to conform to. For `json-object`, `schema` accepts any JSON object. */
export interface OutputSchema {
  readonly format: Extract<ResponseFormat, { type: 'json-schema' | 'json-object' }>
  readonly schema: Record<string, unknown>
  /** Keywords of the client's schema that are not checked, by their place in its request. */
  readonly lost?: readonly string[]
}

/** Brackets in an answer with prose that are tried as the beginning of the value. */
const startsMax = 8

/**
 * Undefined = the request asks for no JSON, or the model's host enforces the format itself. Throws `unprocessable` for
 * a schema with a reference that cannot be resolved.
 */
export function outputSchemaFor(profile: ModelProfile, request: ChatRequest): OutputSchema | undefined {
  const { responseFormat: format } = request
  if (profile.structuredOutput === 'native' || !format || format.type === 'text') return undefined
  if (format.type === 'json-object')
    return profile.structuredOutput === 'none' ? { format, schema: { type: 'object' } } : undefined
  const schema = plainValue(format.schema)
  checkReferences(schema, ['response_format', 'json_schema', 'schema'])
  const lost = schemaFaults(schema).map(({ keyword }) => `response_format.json_schema.schema.${keyword}`)
  return { format, schema, ...(lost.length > 0 && { lost: [...new Set(lost)] }) }
}

/** Throws `unprocessable` for a reference that cannot be resolved. `path` = the schema's field in the client's body. */
export function checkReferences(schema: Record<string, unknown>, path: readonly string[]): void {
  const unknown = unknownReference(schema)
  if (unknown === undefined) return
  const shown = JSON.stringify(unknown.slice(0, 200))
  const msg = `refers to ${shown}, which the schema does not define; put it under \`$defs\``
  throw unprocessable([{ loc: ['body', ...path], msg, type: 'invalid' }])
}

/** Why `text`, parsed strictly as its client will parse it, does not match the schema; undefined = it matches. */
export function schemaMismatch(text: string, schema: Record<string, unknown>): string | undefined {
  if (!isJson(text)) return 'it is not JSON'
  const problems = schemaProblems(schema, JSON.parse(text))
  return problems.length === 0 ? undefined : problems.join('; ')
}

/**
 * Puts the schema into the prompt. The host's JSON mode is used as well where it has one, but not where the model may
 * call a tool instead of answering: JSON mode would rule the call out.
 */
export function promptJson(profile: ModelProfile, outputSchema: OutputSchema, mayCall: boolean): Emulation {
  return {
    ...(outputSchema.lost && { lost: outputSchema.lost }),
    request(request) {
      const { responseFormat: _responseFormat, ...rest } = request
      const messages = withInstruction(request.messages, instruction(outputSchema, mayCall))
      const changed: ChatRequest = { ...rest, messages }
      if (profile.structuredOutput === 'json-object' && !mayCall) changed.responseFormat = { type: 'json-object' }
      return changed
    },
  }
}

function instruction({ format }: OutputSchema, mayCall: boolean): string {
  const answer = mayCall ? 'Unless you call a function, answer' : 'Answer'
  if (format.type === 'json-object')
    return `${answer} with one JSON object and nothing else: no other words, no code fence.`
  return [
    `${answer} with one JSON value and nothing else: no other words, no code fence.`,
    `It must match this JSON Schema${format.description ? ` (${format.description})` : ''}:`,
    exactText(format.schema),
  ].join('\n')
}

/** The answer as JSON text, or what is wrong with it, worded for the model. */
type Validation = { readonly json: string } | { readonly problem: string }

/** Reads `text` leniently (code fences, Python literals and prose around the value are accepted) and validates it. */
export function validateJson(text: string, outputSchema: OutputSchema): Validation {
  const json = findJson(text)
  if (json === undefined) return { problem: 'it is not one complete JSON value' }
  const problems = schemaProblems(outputSchema.schema, JSON.parse(json))
  return problems.length === 0 ? { json } : { problem: problems.join('; ') }
}

/** The user message that asks the model for another try. */
export function correctionPrompt(problem: string): string {
  return (
    `Your answer does not fit the required format: ${problem}. ` +
    'Answer again with the corrected JSON value and nothing else.'
  )
}

/**
 * The JSON in an answer: as it is, without its code fence, with Python literals and trailing commas repaired, or taken
 * out of surrounding prose. A truncated value is not completed, since the missing part cannot be known.
 */
function findJson(text: string): string | undefined {
  const whole = text.trim()
  if (isJson(whole)) return whole
  const fenced = fencedIn(whole)
  if (fenced !== undefined && isJson(fenced)) return fenced.trim()
  const mended = (fenced === undefined ? undefined : readLiteral(fenced)) ?? readLiteral(whole) ?? literalIn(whole)
  return mended && isJson(mended.json) ? mended.json : undefined
}

/** The content of the first closed code fence. Two searches: one pattern for both would backtrack too much. */
function fencedIn(text: string): string | undefined {
  const opener = /```[\w-]*[^\S\n]*\n/g
  const found = opener.exec(text)
  if (!found) return undefined
  const closer = text.indexOf('```', opener.lastIndex)
  return closer < 0 ? undefined : text.slice(opener.lastIndex, closer)
}

function literalIn(text: string): Literal | undefined {
  const starts = /[{[]/g
  for (let tries = 0; tries < startsMax; tries++) {
    const at = starts.exec(text)?.index
    if (at === undefined) return undefined
    const found = readLiteralAt(text, at)
    if (found) return found
  }
  return undefined
}
