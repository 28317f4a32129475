/** Random requests of the hub, the same for the same seed. What a dialect cannot say is not made up for it. */
import type {
  CacheControl,
  ChatRequest,
  Message,
  Part,
  ReasoningEffort,
  ResponseFormat,
  Tool,
} from '../../src/core/hub/chat.ts'

/** How many seeds a property is tried with; `SEEDS=n` for more. */
export function seedsOf(usual: number): readonly number[] {
  const count = Number(process.env.SEEDS ?? usual)
  return Array.from({ length: count }, (_, at) => at + 1)
}

/**
 * Seeds that are new in each run, so that several runs try more; a failure has to name its seed. `SEEDS=n` for more,
 * `FIRST_SEED=n` to begin with one that failed.
 */
export function newSeedsOf(usual: number): readonly number[] {
  const first = Number(process.env.FIRST_SEED ?? 1 + Math.floor(Math.random() * 1_000_000))
  return seedsOf(usual).map(seed => first + seed - 1)
}

/** Runs a property with every seed; a failure names its seed. */
export function forSeeds(seeds: readonly number[], property: (random: Random, seed: number) => void): void {
  for (const seed of seeds)
    try {
      property(new Random(seed), seed)
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
}

const words = [
  'rain',
  'Grüße',
  '世界',
  '👩‍👩‍👧',
  'a"b',
  'c\\d',
  'line\nbreak',
  'tab\there',
  '\u0001',
  '</x>',
  'e\u0301',
  '\u2028',
  'data: [DONE]',
  '\\u0041',
  '42',
  'null',
] as const

/** mulberry32: the same numbers in every run. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed * 0x9e3779b1
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }

  /** From 0 to `most`, both included. */
  int(most: number): number {
    return Math.floor(this.next() * (most + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length - 1)]!
  }

  /** Never empty, never blank, never an object in JSON. */
  text(): string {
    return `w${Array.from({ length: 1 + this.int(4) }, () => this.pick(words)).join(this.pick([' ', '', '\n']))}.`
  }

  name(prefix: string): string {
    return `${prefix}_${this.int(1e9).toString(36)}`
  }

  base64(): string {
    return Buffer.from(this.text()).toString('base64')
  }

  /** A JSON object as a model would write it. */
  json(depth = 2): Record<string, unknown> {
    const value = (): unknown =>
      this.pick([
        () => this.int(1000),
        () => this.text(),
        () => this.chance(0.5),
        () => null,
        () => (depth > 0 ? this.json(depth - 1) : []),
        () => [this.int(9), this.text()],
      ])()
    return Object.fromEntries(
      Array.from({ length: this.int(3) }, (_, at) => [`${this.pick(['a', 'city', 'ключ', 'x y'])}${at}`, value()]),
    )
  }

  schema(): Record<string, unknown> {
    return {
      type: 'object',
      properties: { [this.pick(['city', 'n'])]: { type: this.pick(['string', 'integer']), description: this.text() } },
      required: [],
      additionalProperties: false,
    }
  }
}

export type Field = Exclude<
  keyof ChatRequest,
  'model' | 'messages' | 'stream' | 'includeUsage' | 'extra' | 'understoodExtra' | 'dropped' | 'tools' | 'toolChoice'
>

/** What may be in a request. */
export interface Abilities {
  readonly fields: readonly Field[]
  readonly system: 'one' | 'anywhere'
  readonly developer?: true
  readonly names?: true
  readonly cache?: true
  readonly detail?: true
  readonly fileIds?: true
  readonly documents?: true
  readonly documentUrls?: true
  readonly audio?: true
  readonly refusals?: true
  readonly unsigned?: true
  readonly signed?: true
  readonly redacted?: true
  readonly isError?: true
  readonly resultNames?: 'always' | 'sometimes'
  readonly resultMedia?: true
  readonly emptyResults?: true
  readonly strictTools?: true
  readonly toolChoices: readonly ('auto' | 'none' | 'required' | 'named')[]
  readonly reasoning: readonly ('effort' | 'budget' | 'on' | 'off')[]
  readonly efforts?: readonly ReasoningEffort[]
  readonly formats: readonly ResponseFormat['type'][]
  /** Schemas carry a name, a description and `strict`. */
  readonly namedFormats?: true
  readonly serviceTiers?: readonly string[]
  /** The assistant may say several texts in one message. */
  readonly severalTexts?: true
}

const signatures = ['EqQBCgIYAhIM1gbcDa9GJwZA2b3h', 'c2ln', 'gemini/call/000/CiQB+/=']

class Maker {
  readonly #random: Random
  readonly #can: Abilities
  readonly #calls: { id: string; name: string }[] = []
  readonly tools: Tool[]

  constructor(random: Random, can: Abilities) {
    this.#random = random
    this.#can = can
    this.tools = random.chance(0.6) ? Array.from({ length: 1 + random.int(2) }, (_, at) => this.#tool(at)) : []
  }

  #cache(): { cache?: CacheControl } {
    if (!this.#can.cache || !this.#random.chance(0.2)) return {}
    return {
      cache: this.#random.pick<CacheControl>([
        { type: 'ephemeral' },
        { type: 'ephemeral', ttl: '5m' },
        { type: 'ephemeral', ttl: '1h' },
      ]),
    }
  }

  #tool(at: number): Tool {
    const random = this.#random
    return {
      name: `tool_${at}`,
      ...(random.chance(0.7) && { description: random.text() }),
      parameters: random.schema(),
      ...(this.#can.strictTools && random.chance(0.5) && { strict: random.chance(0.5) }),
      ...this.#cache(),
    }
  }

  #text(): Part {
    return { type: 'text', text: this.#random.text(), ...this.#cache() }
  }

  #userPart(): Part {
    const random = this.#random
    const kinds: (() => Part)[] = [() => this.#text(), () => this.#text(), () => this.#image()]
    if (this.#can.documents) kinds.push(() => this.#document())
    if (this.#can.audio)
      kinds.push(() => ({ type: 'audio', data: random.base64(), format: random.pick(['wav', 'mp3']) }))
    return random.pick(kinds)()
  }

  #image(): Part {
    const random = this.#random
    const source =
      this.#can.fileIds && random.chance(0.2)
        ? { fileId: random.name('file') }
        : random.chance(0.4)
          ? { url: `https://images.example/${random.name('i')}.png` }
          : { data: random.base64(), mediaType: random.pick(['image/png', 'image/jpeg']) }
    return {
      type: 'image',
      source,
      ...(this.#can.detail && random.chance(0.4) && { detail: random.pick(['auto', 'low', 'high'] as const) }),
      ...this.#cache(),
    }
  }

  #document(): Part {
    const random = this.#random
    const source =
      this.#can.fileIds && random.chance(0.3)
        ? { fileId: random.name('file') }
        : this.#can.documentUrls && random.chance(0.3)
          ? { url: `https://files.example/${random.name('d')}.pdf` }
          : { data: random.base64(), mediaType: random.pick(['application/pdf', 'text/plain']) }
    return {
      type: 'document',
      source,
      ...(random.chance(0.5) && { name: `${random.name('f')}.pdf` }),
      ...this.#cache(),
    }
  }

  #reasoning(): Part[] {
    const random = this.#random
    const kinds: (() => Part)[] = []
    if (this.#can.unsigned) kinds.push(() => ({ type: 'reasoning', text: random.text() }))
    if (this.#can.signed)
      kinds.push(() => ({ type: 'reasoning', text: random.text(), signature: random.pick(signatures) }))
    if (this.#can.redacted) kinds.push(() => ({ type: 'reasoning', text: '', redacted: random.base64() }))
    return kinds.length > 0 && random.chance(0.5) ? [random.pick(kinds)()] : []
  }

  #assistant(): Message {
    const random = this.#random
    const parts = this.#reasoning()
    const calls = this.tools.length > 0 && random.chance(0.6) ? 1 + random.int(2) : 0
    if (calls === 0 || random.chance(0.5)) parts.push(this.#text())
    if (this.#can.severalTexts && random.chance(0.2)) parts.push(this.#text())
    if (this.#can.refusals && calls === 0 && random.chance(0.1)) parts.push({ type: 'refusal', text: random.text() })
    for (let at = 0; at < calls; at++) {
      const call = { id: random.name('call'), name: random.pick(this.tools).name }
      this.#calls.push(call)
      parts.push({ type: 'tool-call', ...call, arguments: JSON.stringify(random.json()), ...this.#cache() })
    }
    return { role: 'assistant', parts }
  }

  #result(call: { id: string; name: string }): Message {
    const random = this.#random
    const parts: Part[] = this.#can.emptyResults && random.chance(0.1) ? [] : [{ type: 'text', text: random.text() }]
    if (this.#can.resultMedia && random.chance(0.2))
      parts.push({ type: 'image', source: { data: random.base64(), mediaType: 'image/png' } })
    const named = this.#can.resultNames === 'always' || (this.#can.resultNames === 'sometimes' && random.chance(0.5))
    const part: Part = {
      type: 'tool-result',
      callId: call.id,
      ...(named && { name: call.name }),
      parts,
      ...(this.#can.isError && random.chance(0.3) && { isError: true }),
      ...this.#cache(),
    }
    return { role: 'tool', parts: [part] }
  }

  #named(message: Message): Message {
    return this.#can.names && message.role !== 'tool' && this.#random.chance(0.2)
      ? { ...message, name: this.#random.name('who') }
      : message
  }

  #instructions(): Message {
    const role = this.#can.developer && this.#random.chance(0.5) ? 'developer' : 'system'
    return this.#named({ role, parts: Array.from({ length: 1 + this.#random.int(1) }, () => this.#text()) })
  }

  conversation(): Message[] {
    const random = this.#random
    const messages: Message[] = random.chance(0.5) ? [this.#instructions()] : []
    const user = (): Message =>
      this.#named({ role: 'user', parts: Array.from({ length: 1 + random.int(2) }, () => this.#userPart()) })
    messages.push(user())
    for (let turn = random.int(3); turn > 0; turn--) {
      const assistant = this.#named(this.#assistant())
      messages.push(assistant)
      const open = this.#calls.splice(0)
      for (const call of open) messages.push(this.#result(call))
      if (this.#can.system === 'anywhere' && open.length === 0 && random.chance(0.1))
        messages.push(this.#instructions())
      if (open.length === 0 || random.chance(0.5)) messages.push(user())
    }
    return messages
  }
}

/** Values by field, where a dialect knows the field at all. */
function fieldValue(field: Field, random: Random, can: Abilities): unknown {
  switch (field) {
    case 'maxOutputTokens':
      return 4096 + random.int(1000)
    case 'choices':
      return 1 + random.int(3)
    case 'temperature':
    case 'topP':
      return random.int(10) / 10
    case 'topK':
      return 1 + random.int(100)
    case 'seed':
      return random.int(1_000_000)
    case 'frequencyPenalty':
    case 'presencePenalty':
      return (random.int(20) - 10) / 10
    case 'logitBias':
      return { [random.int(1000)]: random.int(200) - 100 }
    case 'stop':
      return Array.from({ length: 1 + random.int(3) }, () => random.text())
    case 'logprobs':
      return true
    case 'parallelToolCalls':
      return random.chance(0.5)
    case 'user':
      return random.name('user')
    case 'metadata':
      return { team: random.text() }
    case 'serviceTier':
      return random.pick(can.serviceTiers ?? ['auto', 'default', 'flex'])
    case 'topLogprobs':
      return undefined
    case 'reasoning':
      return can.reasoning.length > 0 ? reasoningValue(random, can) : undefined
    case 'responseFormat':
      return can.formats.length > 0 ? formatValue(random, can) : undefined
  }
}

function reasoningValue(random: Random, can: Abilities): ChatRequest['reasoning'] {
  switch (random.pick(can.reasoning)) {
    case 'effort':
      return { effort: random.pick<ReasoningEffort>(can.efforts ?? ['minimal', 'low', 'medium', 'high', 'xhigh']) }
    case 'budget':
      return { budgetTokens: 1024 + random.int(3000) }
    case 'on':
      return { enabled: true }
    case 'off':
      return { enabled: false }
  }
}

function formatValue(random: Random, can: Abilities): ResponseFormat {
  const type = random.pick(can.formats)
  if (type !== 'json-schema') return { type }
  if (!can.namedFormats) return { type, name: 'response', schema: random.schema() }
  return {
    type,
    name: random.name('shape'),
    schema: random.schema(),
    ...(random.chance(0.5) && { strict: random.chance(0.5) }),
    ...(random.chance(0.5) && { description: random.text() }),
  }
}

/** A request as the decoder of `format` would make it. */
export function randomRequest(random: Random, format: string, can: Abilities): ChatRequest {
  const maker = new Maker(random, can)
  const request: ChatRequest = {
    model: 'public',
    messages: maker.conversation(),
    stream: random.chance(0.5),
    includeUsage: false,
    extra: { format, fields: {} },
  }
  request.includeUsage = request.stream && random.chance(0.5)
  for (const field of can.fields)
    if (random.chance(0.3)) Object.assign(request, { [field]: fieldValue(field, random, can) })
  if (request.logprobs && can.fields.includes('topLogprobs') && random.chance(0.5))
    request.topLogprobs = 1 + random.int(4)
  if (maker.tools.length > 0) {
    request.tools = maker.tools
    const choice = random.chance(0.5) && can.toolChoices.length > 0 ? random.pick(can.toolChoices) : undefined
    if (choice) request.toolChoice = choice === 'named' ? { name: random.pick(maker.tools).name } : choice
  } else delete request.parallelToolCalls
  return request
}

/** What a dialect may know of an address beside it. */
const addressNotes = new Set(['field', 'mediaType'])

/** Without undefined fields and the places and types of URLs, and with its keys in order: for comparisons. */
export function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, one]) => one !== undefined && !('url' in value && addressNotes.has(key)))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, canonical(one)]),
  )
}
