/** JSON answers from models that cannot be held to a schema: asked for in the prompt, read leniently, and judged. */
import type { ChatRequest, ResponseFormat } from '../core/chat.ts'
import type { ModelProfile } from '../core/deployment.ts'
import { unprocessable } from '../core/errors.ts'
import type { Emulation } from './decorate.ts'
import { schemaProblems, unknownReference } from '../lib/json/json-schema.ts'
import { readLiteral, readLiteralAt } from '../lib/json/literal.ts'
import type { Literal } from '../lib/json/literal.ts'
import { withInstruction } from './messages.ts'

/** What an answer has to be; `schema` absent = any JSON object. */
export interface JsonContract {
  readonly format: Extract<ResponseFormat, { type: 'json-schema' | 'json-object' }>
  readonly schema: Record<string, unknown>
}

/** Candidates for the beginning of the value in an answer that also holds prose. */
const startsMax = 8

/** Undefined = the model sees to the format itself. Throws `unprocessable` for a schema that cannot be checked. */
export function jsonContract(profile: ModelProfile, request: ChatRequest): JsonContract | undefined {
  const { responseFormat: format } = request
  if (profile.structuredOutput === 'native' || !format || format.type === 'text') return undefined
  if (format.type === 'json-object')
    return profile.structuredOutput === 'none' ? { format, schema: { type: 'object' } } : undefined
  checkReferences(format.schema, ['response_format', 'json_schema', 'schema'])
  return { format, schema: format.schema }
}

/** Throws `unprocessable` for a schema that nothing can be held to. `path` = where the client wrote it. */
export function checkReferences(schema: Record<string, unknown>, path: readonly string[]): void {
  const unknown = unknownReference(schema)
  if (unknown === undefined) return
  throw unprocessable([
    {
      loc: ['body', ...path],
      msg: `refers to ${JSON.stringify(unknown.slice(0, 200))}, which the schema does not define; put it under \`$defs\``,
      type: 'invalid',
    },
  ])
}

/** Why a text is not what the schema says, read as its client will read it; undefined = it is. */
export function misfit(text: string, schema: Record<string, unknown>): string | undefined {
  if (!isJson(text)) return 'it is not JSON'
  const problems = schemaProblems(schema, JSON.parse(text))
  return problems.length === 0 ? undefined : problems.join('; ')
}

/** The schema in the prompt; the host is still asked for JSON where it can be and where a call is no other way out. */
export function promptJson(profile: ModelProfile, contract: JsonContract, mayCall: boolean): Emulation {
  return {
    request(request) {
      const { responseFormat: _responseFormat, ...rest } = request
      const messages = withInstruction(request.messages, instruction(contract, mayCall))
      const changed: ChatRequest = { ...rest, messages }
      if (profile.structuredOutput === 'json-object' && !mayCall) changed.responseFormat = { type: 'json-object' }
      return changed
    },
  }
}

function instruction({ format }: JsonContract, mayCall: boolean): string {
  const answer = mayCall ? 'Unless you call a function, answer' : 'Answer'
  if (format.type === 'json-object')
    return `${answer} with one JSON object and nothing else: no other words, no code fence.`
  return [
    `${answer} with one JSON value and nothing else: no other words, no code fence.`,
    `It must match this JSON Schema${format.description ? ` (${format.description})` : ''}:`,
    JSON.stringify(format.schema),
  ].join('\n')
}

/** The answer as JSON text, or what is wrong with it in words for the model. */
type Judgement = { readonly json: string } | { readonly problem: string }

/** Reads `text` leniently: code fences, Python's spellings and prose around the value are no problem. */
export function judgeJson(text: string, contract: JsonContract): Judgement {
  const json = findJson(text)
  if (json === undefined) return { problem: 'it is not one complete JSON value' }
  const problems = schemaProblems(contract.schema, JSON.parse(json))
  return problems.length === 0 ? { json } : { problem: problems.join('; ') }
}

/** What the model is told before it tries again. */
export function correction(problem: string): string {
  return `Your answer does not fit the required format: ${problem}. Answer again with the corrected JSON value and nothing else.`
}

/**
 * The JSON in an answer: as it is, without its code fence, with Python's spellings and stray commas mended, or out of
 * the prose around it. What is cut short is not completed: nobody knows how it would have gone on.
 */
function findJson(text: string): string | undefined {
  const whole = text.trim()
  if (isJson(whole)) return whole
  const fenced = fencedIn(whole)
  if (fenced !== undefined && isJson(fenced)) return fenced.trim()
  const mended = (fenced === undefined ? undefined : readLiteral(fenced)) ?? readLiteral(whole) ?? literalIn(whole)
  return mended && isJson(mended.json) ? mended.json : undefined
}

/** What stands in the first code fence that is closed. By searches: a pattern for it goes back too often. */
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

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
