/** Decodes a Responses request into hub types. */
import type { ChatRequest, ReasoningEffort, ResponseFormat } from '../../../core/hub/chat.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { parseChecked } from '../../common/field-checks.ts'
import type { ExactFields } from '../../common/field-checks.ts'
import { isObject, objectOf } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { readFields } from '../../common/field-table.ts'
import { untranslatable } from '../../common/untranslatable.ts'
import { withContext } from './context.ts'
import { decodeItems } from './decode-items.ts'
import { responsesTable } from './fields.ts'
import { applyTools, readTools } from './tools.ts'
import { exactNames } from '../../../lib/json/exact-json.ts'

/** What the client's tools and its model wrote. */
const exactFields: ExactFields = [
  // An item `additional_tools`.
  ['input', exactNames('parameters')],
  ['tools', exactNames('parameters')],
  ['text', exactNames('schema')],
]

const logprobsInclude = 'message.output_text.logprobs'

/** Throws `unprocessable` for what this dialect allows and no other vendor has. */
export function decodeResponses(body: JsonBody): ChatRequest {
  const fields = parseChecked(body, exactFields)
  if (isObject(fields.prompt))
    throw untranslatable(['prompt'], 'a stored prompt is only known to the vendor that stores it')
  const items = itemsOf(fields.input)
  const tools = readTools([...((fields.tools ?? []) as Json[]), ...items.flatMap(additionalTools)])
  const { messages, dropped } = decodeItems(items, tools.names)
  if (typeof fields.instructions === 'string' && fields.instructions !== '')
    messages.unshift({ role: 'system', parts: [{ type: 'text', text: fields.instructions }] })
  const request: ChatRequest = {
    model: typeof fields.model === 'string' ? fields.model : '',
    messages,
    stream: fields.stream === true,
    includeUsage: true,
    extra: { format: 'openai-responses', fields: {} },
  }
  const lost = [...tools.dropped, ...dropped, ...readReasoning(fields, request), ...readText(fields, request)]
  if (fields.truncation === 'auto') lost.push('truncation')
  readFields(fields, responsesTable, request, request.extra.fields)
  readSampling(fields, request)
  applyTools(request, tools, fields)
  if (lost.length > 0) request.dropped = [...new Set(lost)]
  return withContext(request, { fields, names: tools.names })
}

/** A plain string is one message of the user. */
export function itemsOf(input: unknown): Json[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }]
  return Array.isArray(input) ? (input as Json[]) : []
}

function additionalTools(item: Json): Json[] {
  return item.type === 'additional_tools' ? (item.tools as Json[]).filter(isObject) : []
}

function readSampling(fields: Json, request: ChatRequest): void {
  const wanted = typeof fields.top_logprobs === 'number' ? fields.top_logprobs : 0
  const included = Array.isArray(fields.include) && fields.include.includes(logprobsInclude)
  if (included || wanted > 0) request.logprobs = true
  if (wanted > 0) request.topLogprobs = wanted
  const user = fields.user ?? fields.safety_identifier
  if (typeof user === 'string') request.user = user
  // `auto` is every vendor's default.
  if (typeof fields.service_tier === 'string' && fields.service_tier !== 'auto')
    request.serviceTier = fields.service_tier
}

/** Summaries need no setting: all thinking that an upstream shows is passed on. */
const knownReasoning = new Set(['effort', 'summary', 'generate_summary'])

/** The names of what the hub has no words for. */
function readReasoning(fields: Json, request: ChatRequest): string[] {
  const reasoning = objectOf(fields.reasoning)
  const { effort } = reasoning
  if (typeof effort === 'string') request.reasoning = { effort: effort as ReasoningEffort }
  return unknownKeys('reasoning', reasoning, knownReasoning)
}

function readText(fields: Json, request: ChatRequest): string[] {
  const text = objectOf(fields.text)
  const format = responseFormat(text.format)
  if (format) request.responseFormat = format
  // `medium` is every vendor's default.
  return unknownKeys('text', text.verbosity === 'medium' ? { ...text, verbosity: null } : text, new Set(['format']))
}

function unknownKeys(field: string, value: Json, known: ReadonlySet<string>): string[] {
  return Object.keys(value)
    .filter(key => !known.has(key) && value[key] != null)
    .map(key => `${field}.${key}`)
}

function responseFormat(value: unknown): ResponseFormat | undefined {
  if (!isObject(value) || value.type === 'text') return undefined
  if (value.type === 'json_object') return { type: 'json-object' }
  const format: ResponseFormat = {
    type: 'json-schema',
    name: value.name as string,
    schema: value.schema as Record<string, unknown>,
  }
  if (typeof value.strict === 'boolean') format.strict = value.strict
  if (typeof value.description === 'string') format.description = value.description
  return format
}
