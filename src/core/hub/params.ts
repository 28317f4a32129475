/** Which fields of a chat request a model takes, in OpenAI's names. */
import { chatFields } from './chat-fields.ts'
import type { ChatField } from './chat-fields.ts'
import type { ChatRequest } from './chat.ts'
import type { Deployment, ModelProfile } from '../deployment.ts'
import type { ChatAdapter, Target } from '../provider.ts'
import { GatewayError } from '../errors.ts'
import type { PlainSchema } from '../dialects/fields.ts'

const toolParams = chatFields.filter(field => field.needs?.includes('supports_function_calling')).map(nameOf)
const guardParams: ReadonlySet<string> = new Set(chatFields.filter(field => field.guard).map(nameOf))
const needsOf = new Map(chatFields.map(field => [field.name, field.needs ?? []]))

/** What every one of these deployments takes, in the order of the first: each of them may answer. */
export function supportedParams(deployments: readonly Deployment[]): string[] {
  const [first, ...others] = deployments.map(paramsOf)
  return first?.filter(param => others.every(other => other.includes(param))) ?? []
}

function paramsOf({ target, profile, info, responsesOnly }: Deployment): string[] {
  const only = responsesOnly === 'everything' ? target.provider.chatByResponses?.(target) : undefined
  const params = [...new Set([...paramsOfTarget(target, only), ...emulatedParams(profile)])]
  if (profile.guard) return params.filter(param => guardParams.has(param))
  const lacks = (param: string): boolean =>
    (needsOf.get(param) ?? []).some(ability => info[ability] === false) && !isEmulated(param, profile)
  return params.filter(param => !lacks(param) && !(profile.toolCalling === 'none' && toolParams.includes(param)))
}

/**
 * The hub's fields that the provider's translation carries for this model, and those that it takes beside them.
 * `adapter` = the only one that is asked; absent = chat completions.
 */
function paramsOfTarget(target: Target, adapter?: ChatAdapter): string[] {
  const { chat, chatExtras = [] } = target.provider
  if (!chat) return []
  const chatAdapter = adapter ?? chat
  const taken = chatFields.filter(field => field.always || isCarried(field, target, chatAdapter)).map(nameOf)
  const extras = adapter ? chatExtras.filter(name => isTaken(withExtra(name), [name], { target, adapter })) : chatExtras
  return [...taken, ...extras]
}

const withExtra = (name: string): ChatRequest => ({ ...bare, extra: { ...bare.extra, fields: { [name]: 'low' } } })

function nameOf({ name }: ChatField): string {
  return name
}

const emulatesTools = ({ toolCalling }: ModelProfile): boolean => toolCalling !== 'native' && toolCalling !== 'none'
const isEmulated = (param: string, profile: ModelProfile): boolean =>
  emulatesTools(profile) && toolParams.includes(param)

/** Fields that the gateway emulates for the model, independent of its host. */
function emulatedParams(profile: ModelProfile): string[] {
  return [
    ...(emulatesTools(profile) ? toolParams : []),
    ...(profile.structuredOutput === 'native' ? [] : ['response_format']),
  ]
}

/** Models of one provider differ: its own translation says what it would leave out. Nothing is sent. */
function isCarried(field: ChatField, target: Target, adapter: ChatAdapter): boolean {
  const names = [field.name, ...(field.lostAs ?? [])]
  return probesOf(field).some(probe => isTaken({ ...bare, ...probe }, names, { target, adapter }))
}

interface ProbedTarget {
  readonly target: Target
  readonly adapter: ChatAdapter
}

/** false = the request is refused, or one of the names is dropped. */
function isTaken(request: ChatRequest, names: readonly string[], { target, adapter }: ProbedTarget): boolean {
  try {
    const { dropped } = adapter.request(request, target)
    return !dropped.some(name => names.includes(name.split('.')[0]!))
  } catch (error) {
    if (error instanceof GatewayError) return false
    throw error
  }
}

/** Empty for a field that the hub has no property for. */
function probesOf({ probes, property, schema }: ChatField): readonly Partial<ChatRequest>[] {
  if (probes) return probes
  return property === undefined ? [] : [{ [property]: sampleOf(schema as PlainSchema) }]
}

/** A value that is allowed, and that is not the usual default. */
function sampleOf(schema: PlainSchema): unknown {
  if (schema.type === 'number') return schema.maximum / 4
  if (schema.type === 'integer') return (schema.minimum ?? 0) + 1
  if (schema.type === 'boolean') return true
  if (schema.type === 'object') return { 1: 1 }
  return schema.type === 'array' ? ['text'] : 'text'
}

const bare: ChatRequest = {
  model: 'model',
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'text' }] }],
  stream: false,
  includeUsage: false,
  extra: { format: 'openai-chat', fields: {} },
}
