/** What hosts with OpenAI's dialect refuse of a chat, by the tables of `rules/`, with their statuses and messages. */
import { hostRule, hostRules } from '../../../rules/hosts.ts'
import { openaiRule } from '../../../rules/openai.ts'
import { agentApi } from '../../../rules/perplexity.ts'
import type { ChatRule, FieldRule, HostRule } from '../../../rules/chat.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { JsonObject } from '../../lib/json.ts'
import { ApiError } from '../response.ts'

/** Presets of Perplexity's Agent API. */
const presets: readonly unknown[] = [undefined, 'fast', 'low', 'medium', 'high', 'xhigh']

/**
 * The same for a Response: Perplexity's has a preset, and the names of its models begin with their vendor's. Throws
 * ApiError.
 */
export function hostResponse(host: string, model: string, body: JsonObject): JsonObject {
  if (host === 'openai') checkOpenaiResponse(model, body)
  if (host !== 'perplexity') return body
  const { preset, response_format: format, ...rest } = body
  if (!model.includes('/')) throw new ApiError(`Invalid model '${model}'.`, { param: 'model', code: 'invalid_model' })
  if (!presets.includes(preset)) throw new ApiError(`Invalid preset '${String(preset)}'.`, { param: 'preset' })
  const unknown = agentApi.unsupported.find(name => rest[name] !== undefined)
  if (unknown !== undefined) throw openaiRefusal({ path: [unknown], value: rest[unknown] })
  return isJsonObject(format) && isJsonObject(format.json_schema)
    ? { ...rest, text: { format: { type: format.type, ...format.json_schema } } }
    : rest
}

/** Sampling and effort, the rest of which is as in a chat. */
function checkOpenaiResponse(model: string, body: JsonObject): void {
  const { efforts, onlyAt, whileReasoning, defaultEffort, source } = openaiRule(model) ?? {}
  if (!source) return
  const sampled = { source, efforts, onlyAt, defaultEffort }
  const reasoning = whileReasoning && { onlyAt: whileReasoning.onlyAt }
  const { temperature, top_p: topP } = body
  const effort = isJsonObject(body.reasoning) ? body.reasoning.effort : undefined
  const found = refusedMember(
    { ...sampled, ...(reasoning && { whileReasoning: reasoning }) },
    { temperature, top_p: topP, reasoning_effort: effort },
  )
  if (found) throw openaiRefusal(found)
}

/** A member that is refused, and where it stands. */
interface Refused {
  /** As in the body: `logprobs`, `messages.2.reasoning_content`. */
  readonly path: readonly (string | number)[]
  /** Of the message that it stands in. */
  readonly role?: string
  readonly value: unknown
  /** The values that would be taken; absent = none. */
  readonly taken?: readonly unknown[]
}

/**
 * The body as the common chat reads it: words that are the host's alone are left out. Throws ApiError in the host's
 * form for what it refuses, also for a host without a row that the gateway does not know.
 */
export function hostBody(host: string, model: string, body: JsonObject): JsonObject {
  const row: HostRule | undefined = Object.hasOwn(hostRules, host) ? hostRules[host] : undefined
  if (row?.chatEndedOn !== undefined)
    throw new ApiError(`Chat completions ended on ${row.chatEndedOn}; use /v1/responses.`, { status: 404 })
  const rule = host === 'openai' ? openaiRule(model) : hostRule(host, model)
  if (!rule) return body
  const found = refusedMember(rule, body)
  if (found) throw refusalOf(row?.refusal ?? 'openai', found, model)
  if (rule.schemas === false && isJsonObject(body.response_format) && body.response_format.type === 'json_schema')
    throw new ApiError('This response_format type is unavailable now', { code: 'invalid_request_error' })
  if (rule.formatBesideTools === false && asksForJson(body) && objectsOf(body.tools).length > 0)
    throw new ApiError('"tools" is incompatible with "response_format"', { code: 'wrong_api_format' })
  return body.reasoning_effort === 'default' ? { ...body, reasoning_effort: undefined } : body
}

const asksForJson = ({ response_format: format }: JsonObject): boolean => isJsonObject(format) && format.type !== 'text'

function refusedMember(rule: ChatRule, body: JsonObject): Refused | undefined {
  const { efforts, whileReasoning, defaultEffort } = rule
  const effort = body.reasoning_effort
  if (efforts && effort !== undefined && effort !== null && !efforts.includes(effort as string))
    return { path: ['reasoning_effort'], value: effort, taken: efforts }
  const reasons = whileReasoning && (effort ?? defaultEffort) !== 'none'
  return (
    refusedField(rule, body) ??
    (reasons ? refusedField(whileReasoning, body) : undefined) ??
    renamedAway(rule, body) ??
    insideOf('messages', body.messages, [...(rule.messageFields ?? []), ...Object.keys(rule.messageRename ?? {})]) ??
    insideOf('tools', body.tools, rule.toolFields ?? [])
  )
}

function refusedField({ unsupported = [], onlyAt = {} }: FieldRule, body: JsonObject): Refused | undefined {
  const name = unsupported.find(one => body[one] !== undefined)
  if (name !== undefined) return { path: [name], value: body[name] }
  const other = Object.entries(onlyAt).find(([one, value]) => body[one] !== undefined && body[one] !== value)
  return other && { path: [other[0]], value: body[other[0]], taken: [other[1]] }
}

/** OpenAI alone refuses the older name; others take the newer one for nothing. */
function renamedAway({ rename = {} }: ChatRule, body: JsonObject): Refused | undefined {
  return 'max_tokens' in rename && body.max_tokens !== undefined
    ? { path: ['max_tokens'], value: body.max_tokens }
    : undefined
}

function insideOf(field: string, list: unknown, paths: readonly string[]): Refused | undefined {
  for (const [at, entry] of objectsOf(list).entries())
    for (const path of paths) {
      const found = valueAt(entry, path.split('.'))
      if (found) return { path: [field, at, ...found.path], role: String(entry.role), value: found.value }
    }
  return undefined
}

function valueAt(entry: JsonObject, [name, ...rest]: readonly string[]): Refused | undefined {
  const value = entry[name!]
  if (value === undefined) return undefined
  if (rest.length === 0) return { path: [name!], value }
  const list = Array.isArray(value) ? objectsOf(value) : isJsonObject(value) ? [value] : []
  for (const [at, one] of list.entries()) {
    const found = valueAt(one, rest)
    if (found) return { ...found, path: [name!, ...(Array.isArray(value) ? [at] : []), ...found.path] }
  }
  return undefined
}

/** The messages are quoted in the threads and pages that the rows of `rules/hosts.ts` name. */
function refusalOf(form: NonNullable<HostRule['refusal']>, refused: Refused, model: string): ApiError {
  switch (form) {
    case 'groq':
      return groqRefusal(refused)
    case 'cerebras':
      return cerebrasRefusal(refused)
    case 'fireworks':
      return fireworksRefusal(refused)
    case 'xai': {
      const argument = String(refused.path.at(-1)).replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
      const error = `Model ${model} does not support parameter ${argument}.`
      return new ApiError(error, { body: { code: 'invalid-argument', error } })
    }
    case 'openai':
      return openaiRefusal(refused)
  }
}

function groqRefusal({ path, role, taken }: Refused): ApiError {
  const name = String(path.at(-1))
  if (taken && taken.length > 0) return new ApiError(`\`${name}\` must be one of ${listed(taken)}`)
  if (path[0] !== 'messages') return new ApiError(`property '${path.join('.')}' is unsupported`)
  const place = `'messages.${path[1]}'`
  return new ApiError(
    `${place} : for 'role:${role}' the following must be satisfied[(${place} : property '${name}' is unsupported)]`,
  )
}

function cerebrasRefusal({ path, role, taken }: Refused): ApiError {
  const place = path[0] === 'messages' ? ['messages', path[1], role, ...path.slice(2)] : ['body', ...path]
  const where = place.join('.')
  const message = taken?.length
    ? `${where}: Input should be ${listed(taken)}`
    : `${where}: property '${where}' is unsupported`
  return new ApiError(message, {
    body: { message, type: 'invalid_request_error', param: 'validation_error', code: 'wrong_api_format' },
  })
}

function fireworksRefusal({ path, value, taken }: Refused): ApiError {
  const field = path.reduce<string>((text, part) => `${text}${typeof part === 'number' ? `[${part}]` : `.${part}`}`, '')
  const what = taken?.length ? `Input should be ${listed(taken)}` : 'Extra inputs are not permitted'
  const message = `${what}, field: '${field.slice(1)}', value: ${JSON.stringify(value)}`
  return new ApiError(message, {
    body: { error: { object: 'error', type: 'invalid_request_error', code: 'invalid_request_error', message } },
  })
}

function openaiRefusal({ path, value, taken }: Refused): ApiError {
  const param = path.join('.')
  if (param === 'max_tokens')
    return new ApiError(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { param, code: 'unsupported_parameter' },
    )
  if (taken?.length)
    return new ApiError(
      `Unsupported value: '${param}' does not support ${JSON.stringify(value)} with this model. Supported values ` +
        `are: ${listed(taken)}.`,
      { param, code: 'unsupported_value' },
    )
  return new ApiError(`Unsupported parameter: '${param}' is not supported with this model.`, {
    param,
    code: 'unsupported_parameter',
  })
}

const listed = (values: readonly unknown[]): string => values.map(value => `'${String(value)}'`).join(', ')
