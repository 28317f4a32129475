/** Requests there and back: through every dialect of clients, and through every vendor that is also a dialect. */
import { describe, expect, test } from 'bun:test'
import type { ChatRequest, Message, Part } from '../../src/core/hub/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { ChatFormat } from '../../src/core/format.ts'
import { anthropicMessages, cursorChat, geminiGenerate, openaiChat, openaiResponses } from '../../src/formats/index.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import { providerOf } from '../golden/targets.ts'
import { targetOf } from '../support/provider-rig.ts'
import { anthropicBody, chatBody, geminiBody, responsesBody } from './encoders.ts'
import type { Json } from './encoders.ts'
import { canonical, forSeeds, randomRequest, seedsOf } from './random.ts'
import type { Abilities, Field } from './random.ts'

const sampling: readonly Field[] = ['maxOutputTokens', 'temperature', 'topP']
const all: readonly Field[] = [
  ...sampling,
  'topK',
  'choices',
  'stop',
  'seed',
  'frequencyPenalty',
  'presencePenalty',
  'logitBias',
  'logprobs',
  'topLogprobs',
  'parallelToolCalls',
  'reasoning',
  'responseFormat',
  'user',
  'metadata',
  'serviceTier',
]
const chatAbilities: Abilities = {
  fields: all,
  system: 'anywhere',
  developer: true,
  names: true,
  cache: true,
  detail: true,
  documents: true,
  audio: true,
  refusals: true,
  unsigned: true,
  signed: true,
  redacted: true,
  resultNames: 'sometimes',
  resultMedia: true,
  emptyResults: true,
  strictTools: true,
  toolChoices: ['auto', 'none', 'required', 'named'],
  reasoning: ['effort', 'budget', 'on', 'off'],
  formats: ['text', 'json-object', 'json-schema'],
  namedFormats: true,
  severalTexts: true,
}
const responsesAbilities: Abilities = {
  fields: [
    ...sampling,
    'logprobs',
    'topLogprobs',
    'parallelToolCalls',
    'reasoning',
    'responseFormat',
    'user',
    'serviceTier',
  ],
  system: 'anywhere',
  developer: true,
  detail: true,
  fileIds: true,
  documents: true,
  documentUrls: true,
  audio: true,
  refusals: true,
  unsigned: true,
  signed: true,
  redacted: true,
  resultMedia: true,
  emptyResults: true,
  strictTools: true,
  toolChoices: ['auto', 'none', 'required', 'named'],
  reasoning: ['effort'],
  efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
  formats: ['json-object', 'json-schema'],
  namedFormats: true,
  serviceTiers: ['default', 'flex'],
  severalTexts: true,
}
const geminiAbilities: Abilities = {
  fields: [
    ...sampling,
    'topK',
    'choices',
    'stop',
    'seed',
    'frequencyPenalty',
    'presencePenalty',
    'logprobs',
    'topLogprobs',
    'reasoning',
    'responseFormat',
    'serviceTier',
  ],
  system: 'one',
  documents: true,
  documentUrls: true,
  audio: true,
  unsigned: true,
  signed: true,
  redacted: true,
  isError: true,
  resultNames: 'always',
  resultMedia: true,
  toolChoices: ['auto', 'none', 'required'],
  reasoning: ['effort', 'budget', 'on', 'off'],
  efforts: ['minimal', 'low', 'medium', 'high'],
  formats: ['json-object', 'json-schema'],
  serviceTiers: ['flex', 'default'],
}
const anthropicAbilities: Abilities = {
  fields: [...sampling, 'topK', 'stop', 'parallelToolCalls', 'reasoning', 'responseFormat', 'user', 'serviceTier'],
  system: 'anywhere',
  cache: true,
  fileIds: true,
  documents: true,
  documentUrls: true,
  unsigned: true,
  signed: true,
  redacted: true,
  isError: true,
  resultNames: 'always',
  resultMedia: true,
  emptyResults: true,
  strictTools: true,
  toolChoices: ['auto', 'none', 'required', 'named'],
  reasoning: ['effort', 'off'],
  efforts: ['low', 'medium', 'high', 'xhigh'],
  formats: ['json-schema'],
  serviceTiers: ['auto', 'default'],
  severalTexts: true,
}

function decoded(format: ChatFormat, body: Json): ChatRequest {
  const read = JsonBody.read(Buffer.from(JSON.stringify(body)))
  expect(format.inspect(read).problems).toEqual([])
  return format.decode(read)
}

const seeds = seedsOf(400)

describe('a request of the hub, written as its clients write and decoded, is the same', () => {
  test('chat completions', () => {
    forSeeds(seeds, random => {
      const request = randomRequest(random, 'openai-chat', chatAbilities)
      if (random.chance(0.2)) request.extra.fields.some_future_field = random.json()
      expect(canonical(decoded(openaiChat, chatBody(request)))).toEqual(canonical(request))
    })
  })

  test('responses, also as Cursor sends them', () => {
    forSeeds(seeds, random => {
      const request = { ...randomRequest(random, 'openai-responses', responsesAbilities), includeUsage: true }
      const body = responsesBody(request)
      // Top logprobs ask for logprobs, and the other way round.
      const expected = { ...request, ...(request.topLogprobs !== undefined && { logprobs: true }) }
      expect(canonical(decoded(openaiResponses, body))).toEqual(canonical(expected))
      expect(canonical(decoded(cursorChat, body))).toEqual(canonical({ ...expected, includeUsage: false }))
    })
  })

  test('Gemini', () => {
    forSeeds(seeds, random => {
      const request = {
        ...randomRequest(random, 'gemini-generate', geminiAbilities),
        model: '',
        stream: false,
        includeUsage: true,
      }
      // The dialect names models in the path, and each result of a call.
      expect(canonical(decoded(geminiGenerate, geminiBody(request)))).toEqual(canonical(request))
    })
  })

  test('Anthropic', () => {
    forSeeds(seeds, random => {
      const request = { ...randomRequest(random, 'anthropic-messages', anthropicAbilities), includeUsage: true }
      request.maxOutputTokens ??= 1000
      if (random.chance(0.3)) request.reasoning = { enabled: true, ...(random.chance(0.5) && { budgetTokens: 2048 }) }
      // A choice is where the dialect says that calls come one by one.
      if (!request.toolChoice || request.parallelToolCalls !== false) delete request.parallelToolCalls
      expect(canonical(decoded(anthropicMessages, anthropicBody(request)))).toEqual(canonical(request))
    })
  })
})

interface Loss {
  /** The name that `dropped` must hold; absent = not reported, for the reason in the comment. */
  readonly reported?: string
  /** Undefined = this request has nothing to lose here. */
  readonly without: (request: ChatRequest) => ChatRequest | undefined
}

const field = (name: keyof ChatRequest, reported: string): Loss => ({
  reported,
  without: ({ [name]: value, ...rest }) => (value === undefined ? undefined : (rest as ChatRequest)),
})
/** Changes parts, also inside results; `change` gives the same part when there is nothing to lose. */
function parts(change: (part: Part, message: Message) => Part[], reported?: string): Loss {
  return {
    ...(reported !== undefined && { reported }),
    without: request => {
      let lost = false
      const one = (part: Part, message: Message): Part[] =>
        change(part, message).map(changed => {
          if (changed.type !== 'tool-result') return changed
          const inner = changed.parts.flatMap(each => one(each, message))
          return { ...changed, parts: inner }
        })
      const messages = request.messages.map(message => ({
        ...message,
        parts: message.parts.flatMap(part => one(part, message)),
      }))
      lost = JSON.stringify(messages) !== JSON.stringify(request.messages)
      return lost ? { ...request, messages } : undefined
    },
  }
}
const silent = (without: Loss['without']): Loss => ({ without })

const names: Loss = {
  reported: 'messages.name',
  without: request =>
    request.messages.some(message => message.name !== undefined)
      ? { ...request, messages: request.messages.map(({ name: _, ...rest }) => rest) }
      : undefined,
}
const partCache: Loss = parts(part => {
  if (!('cache' in part)) return [part]
  const { cache: _, ...rest } = part
  return [rest as Part]
}, 'cache_control')
const toolCache: Loss = {
  reported: 'cache_control',
  without: request =>
    request.tools?.some(tool => tool.cache)
      ? { ...request, tools: request.tools.map(({ cache: _, ...tool }) => tool) }
      : undefined,
}
const detail: Loss = parts(part => {
  if (part.type !== 'image' || part.detail === undefined || part.detail === 'auto') return [part]
  const { detail: _, ...rest } = part
  return [rest]
}, 'messages.content.image_url.detail')
/** What everybody does when nothing is said. */
const automatic: Loss = parts(part => {
  if (part.type !== 'image' || part.detail !== 'auto') return [part]
  const { detail: _, ...rest } = part
  return [rest]
})
const strictTools: Loss = {
  reported: 'tools.function.strict',
  without: request =>
    request.tools?.some(tool => tool.strict)
      ? { ...request, tools: request.tools.map(({ strict: _, ...tool }) => tool) }
      : undefined,
}
/** `strict: false` is what everybody does. */
const looseTools = silent(request =>
  request.tools?.some(tool => tool.strict === false)
    ? {
        ...request,
        tools: request.tools.map(tool => ({ ...tool, ...(tool.strict === false && { strict: undefined }) })),
      }
    : undefined,
)
/** Only their own vendors can read proofs; a conversation of several vendors would otherwise always be a loss. */
const proofs = (keeps: (part: Extract<Part, { type: 'reasoning' }>) => boolean): Loss =>
  parts(part => (part.type === 'reasoning' && !keeps(part) ? [] : [part]))

/** Neighbours that the dialect has one word for. Random texts begin and end with a word or a stop. */
function joinTexts(list: readonly Part[]): Part[] {
  const out: Part[] = []
  for (const part of list) {
    const last = out.at(-1)
    if (part.type === 'text' && last?.type === 'text') last.text += `\n${part.text}`
    else out.push({ ...part })
  }
  return out
}

/** The losses of a vendor in their order, each seen to be reported; what is left has to come back. */
function withoutLosses(request: ChatRequest, losses: readonly Loss[], dropped: readonly string[]): ChatRequest {
  let left = request
  for (const { reported, without } of losses) {
    const less = without(left)
    if (less === undefined) continue
    if (reported !== undefined && !dropped.includes(reported))
      throw new Error(`lost without a word: ${reported}; dropped: ${dropped.join(', ')}`)
    left = less
  }
  return left
}

interface Trip {
  readonly provider: string
  readonly model: string
  readonly format: ChatFormat
  readonly can: Abilities
  readonly losses: readonly Loss[]
  /** What both sides are allowed to write differently. */
  readonly alike: (request: ChatRequest) => unknown
}

const openaiTrip = (provider: string, losses: readonly Loss[]): Trip => ({
  provider,
  model: 'm',
  format: openaiChat,
  can: { ...chatAbilities, resultMedia: undefined as never },
  losses: [
    ...losses,
    partCache,
    toolCache,
    {
      reported: 'reasoning.budget_tokens',
      without: request =>
        request.reasoning?.budgetTokens === undefined ? undefined : { ...request, reasoning: undefined as never },
    },
    {
      reported: 'reasoning.enabled',
      without: request =>
        request.reasoning?.enabled === undefined ? undefined : { ...request, reasoning: undefined as never },
    },
    proofs(part => part.text !== ''),
    parts(part => (part.type === 'reasoning' ? [{ type: 'reasoning', text: part.text }] : [part])),
    // A result belongs to its call by id; a file always has a name there.
    parts(part =>
      part.type === 'tool-result'
        ? [{ ...part, name: undefined as never }]
        : part.type === 'document'
          ? [{ ...part, name: part.name ?? 'document' }]
          : [part],
    ),
  ],
  alike: request => ({
    ...request,
    model: '',
    includeUsage: request.stream,
    messages: request.messages.map(message => ({
      ...message,
      parts: message.parts.length > 1 ? plainTexts(message) : message.parts,
    })),
  }),
})

/** Texts alone are one text; beside other parts they stay apart. */
function plainTexts({ role, parts: list }: Message): Part[] {
  const texts = list.every(part => part.type === 'text') || role === 'assistant'
  return texts ? joinTexts(list) : [...list]
}

const unsaidAtGemini: readonly Loss[] = [
  field('logitBias', 'logit_bias'),
  field('user', 'user'),
  field('metadata', 'metadata'),
  silent(request => (request.serviceTier === 'auto' ? { ...request, serviceTier: undefined as never } : undefined)),
  {
    reported: 'parallel_tool_calls',
    without: request =>
      request.parallelToolCalls === false ? { ...request, parallelToolCalls: undefined as never } : undefined,
  },
  silent(request =>
    request.parallelToolCalls === true ? { ...request, parallelToolCalls: undefined as never } : undefined,
  ),
  // The mode that holds a model to the schemas of all its functions stands beside them, and implies a choice.
  silent(request =>
    strictTools.without(request) && !request.toolChoice ? { ...request, toolChoice: 'auto' } : undefined,
  ),
  silent(strictTools.without),
  looseTools,
  names,
  detail,
  automatic,
  partCache,
  toolCache,
]
const geminiTrip: Trip = {
  provider: 'gemini',
  model: 'gemini-3-pro-preview',
  format: geminiGenerate,
  can: {
    ...chatAbilities,
    system: 'one',
    audio: true,
    refusals: undefined as never,
    names: true,
    severalTexts: undefined as never,
    resultMedia: undefined as never,
    emptyResults: undefined as never,
    formats: ['json-object', 'json-schema'],
    namedFormats: undefined as never,
    reasoning: ['effort'],
    efforts: ['low', 'high'],
    toolChoices: ['auto', 'none', 'required'],
  },
  losses: [
    ...unsaidAtGemini,
    // Thinking of other vendors cannot be verified there; Gemini's own is in the golden grid.
    proofs(() => false),
    silent(request => ({ ...request, messages: request.messages.filter(message => message.parts.length > 0) })),
    // Names of files have no place in AI Studio's blobs.
    parts(
      part => (part.type === 'document' ? [{ ...part, name: undefined as never }] : [part]),
      'messages.content.file.filename',
    ),
    // A choice of one is the default; `logprobs: true` stays.
    silent(request => (request.choices === 1 ? { ...request, choices: undefined as never } : undefined)),
  ],
  alike: request => ({
    ...request,
    model: '',
    stream: false,
    includeUsage: true,
    extra: {},
    // Of the mode that strict tools ask for; nothing else is lost on the way back.
    dropped: request.dropped?.filter(one => one !== 'toolConfig.functionCallingConfig.mode') ?? [],
    messages: turns(request.messages).map(message => ({
      ...message,
      role: message.role === 'developer' ? 'system' : message.role,
      parts: message.parts
        .filter(part => part.type !== 'reasoning')
        .map(part => (part.type === 'tool-result' ? { ...part, name: '' } : part))
        // A step of another vendor's history is sent with Google's word for that.
        .map(part => (part.type === 'tool-call' ? without(part, 'signature') : part)),
    })),
  }),
}

function without<Value extends object>(value: Value, name: string): Value {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name)) as Value
}

/** Neighbours of one role, as one message; results stay by themselves, in the order of their calls. */
function turns(messages: readonly Message[]): Message[] {
  const out: Message[] = []
  for (const message of messages) {
    const last = out.at(-1)
    if (last && last.role === message.role && message.role !== 'tool') last.parts = [...last.parts, ...message.parts]
    else out.push({ ...message })
  }
  return out
}

const anthropicTrip: Trip = {
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  format: anthropicMessages,
  can: {
    ...chatAbilities,
    system: 'one',
    audio: undefined as never,
    refusals: undefined as never,
    emptyResults: true,
    isError: true,
    fields: all.filter(one => one !== 'temperature' && one !== 'topP' && one !== 'topK'),
    reasoning: ['off'],
    formats: ['json-schema'],
    namedFormats: undefined as never,
    documentUrls: true,
  },
  losses: [
    {
      reported: 'n',
      without: request => ((request.choices ?? 1) > 1 ? { ...request, choices: undefined as never } : undefined),
    },
    silent(request => (request.choices === 1 ? { ...request, choices: undefined as never } : undefined)),
    field('seed', 'seed'),
    field('frequencyPenalty', 'frequency_penalty'),
    field('presencePenalty', 'presence_penalty'),
    field('logitBias', 'logit_bias'),
    field('logprobs', 'logprobs'),
    field('topLogprobs', 'top_logprobs'),
    field('metadata', 'metadata'),
    {
      reported: 'service_tier',
      without: request =>
        request.serviceTier === 'flex' ? { ...request, serviceTier: undefined as never } : undefined,
    },
    looseTools,
    names,
    detail,
    automatic,
    // No thinking is what it does without being asked; calls come in parallel anyway.
    silent(request =>
      request.reasoning?.enabled === false ? { ...request, reasoning: undefined as never } : undefined,
    ),
    silent(request =>
      request.parallelToolCalls === true ? { ...request, parallelToolCalls: undefined as never } : undefined,
    ),
    // With `none` there are no calls at all.
    silent(request =>
      request.toolChoice === 'none' && request.parallelToolCalls === false
        ? { ...request, parallelToolCalls: undefined as never }
        : undefined,
    ),
    // To say that calls come one by one, the choice has to be named.
    silent(request =>
      request.parallelToolCalls === false && request.toolChoice === undefined
        ? { ...request, toolChoice: 'auto' as const }
        : undefined,
    ),
    proofs(
      part => part.redacted !== undefined || (part.signature !== undefined && !part.signature.startsWith('gemini/')),
    ),
    silent(request => ({ ...request, messages: request.messages.filter(message => message.parts.length > 0) })),
    // A limit is demanded.
    silent(request => (request.maxOutputTokens === undefined ? { ...request, maxOutputTokens: 8192 } : undefined)),
  ],
  alike: request => ({
    ...request,
    model: '',
    includeUsage: true,
    extra: {},
    // Of a strict tool's schema only what Claude enforces is sent; what is lost by that is reported.
    tools: request.tools
      ?.map(tool => (tool.strict ? { ...tool, parameters: {} } : tool))
      .map(tool => without(tool, 'cache')),
    messages: turns(request.messages).map(message => ({
      ...message,
      role: message.role === 'developer' ? 'system' : message.role,
      parts: message.parts
        .map(part => (part.type === 'tool-result' ? { ...part, name: '' } : part))
        // Four marks at most are sent (src/providers/anthropic).
        .map(part => without(part, 'cache')),
    })),
  }),
}

describe('a request through a vendor and decoded in its dialect is the same, but for what is reported', () => {
  const trips: readonly Trip[] = [
    openaiTrip('openai', [field('topK', 'top_k')]),
    openaiTrip('openrouter', []),
    geminiTrip,
    anthropicTrip,
  ]
  for (const trip of trips)
    test(trip.provider, () => {
      const target = targetOf(providerOf(trip.provider), { model: trip.model })
      let refused = 0
      forSeeds(seeds, random => {
        const request = randomRequest(random, 'openai-chat', trip.can)
        let call: { body: unknown; dropped: readonly string[] }
        try {
          call = target.provider.chat!.request(request, target)
        } catch (error) {
          if (!(error instanceof GatewayError) || error.status >= 500) throw error
          refused++
          return
        }
        const expected = withoutLosses(request, trip.losses, call.dropped)
        expect(canonical(trip.alike(decoded(trip.format, call.body as Json)))).toEqual(canonical(trip.alike(expected)))
      })
      // Pictures by address, for one, are refused by some.
      expect(refused).toBeLessThan(seeds.length * 0.7)
    })
})
