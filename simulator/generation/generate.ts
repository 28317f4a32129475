/** Generates the answer. The same seed, model and conversation always give the same text. */
import type {
  GenerationRequest,
  ToolDefinition,
  Generation,
  GeneratedToolCall,
  GeneratedChoice,
  GeneratedImage,
} from './types.ts'
import { pngOf } from './media.ts'
import { hash, randomId, seededRandom } from './random.ts'
import type { ScriptedReply } from '../script/script.ts'
import { sampleValue } from './schema-value.ts'
import { sentence, textOfTokens, tokensOf } from './tokens.ts'

const tokensMax = 1_000_000

interface Draft {
  readonly text: string
  readonly calls: readonly { id: string; name: string; takesText: boolean; arguments: string }[]
  readonly finish?: GeneratedChoice['finish']
  readonly reasoning?: string
  readonly images?: readonly GeneratedImage[]
}

/** The number of a directive in the last user message, one on each line. `say:` takes all that follows it. */
function directive(userText: string, name: 'tokens' | 'cached' | 'cache-write'): number | undefined {
  const found = new RegExp(`^${name}: *(\\d{1,9})`, 'm').exec(userText)
  return found ? Math.min(Number(found[1]), tokensMax) : undefined
}

function toolsToCall(request: GenerationRequest): ToolDefinition[] {
  const { toolChoice, tools, userText } = request
  if (tools.length === 0 || toolChoice === 'none') return []
  if (typeof toolChoice === 'object') return tools.filter(tool => tool.name === toolChoice.name).slice(0, 1)
  const named = tools.filter(tool => tool.name !== '' && userText.includes(tool.name))
  const wanted = named.length > 0 ? named : tools.slice(0, 1)
  const several = request.parallelTools ? wanted : wanted.slice(0, 1)
  if (toolChoice === 'required') return several
  if (request.toolResult !== undefined || /^say:/m.test(userText)) return []
  return named.length > 0 || /use the tool/i.test(userText) ? several : []
}

function generateCalls(tools: readonly ToolDefinition[], random: () => number): Draft {
  const calls = tools.map(tool => ({
    id: randomId(random, 24),
    name: tool.name,
    takesText: tool.takesText,
    arguments: tool.takesText ? sentence(random) : JSON.stringify(sampleValue(tool.schema, random)),
  }))
  return { text: '', calls }
}

function generateText(request: GenerationRequest, random: () => number): string {
  const directed = /^say: ?([\s\S]*)/m.exec(request.userText)
  if (directed) return directed[1]!
  const count = directive(request.userText, 'tokens')
  if (count !== undefined) return textOfTokens(count, random)
  if (request.toolResult !== undefined) return `The tool said: ${request.toolResult}`
  if (request.json) {
    const schema = request.json.schema ?? { type: 'object', properties: { answer: { type: 'string' } } }
    return JSON.stringify(sampleValue(schema, random))
  }
  const imageCount = request.images > 0 ? `I see ${request.images} image${request.images === 1 ? '' : 's'}. ` : ''
  return imageCount + sentence(random)
}

function draft(request: GenerationRequest, script: ScriptedReply | undefined, random: () => number): Draft {
  if (!script) {
    const tools = toolsToCall(request)
    return tools.length > 0 ? generateCalls(tools, random) : { text: generateText(request, random), calls: [] }
  }
  const calls = (script.toolCalls ?? []).map(call => ({
    id: call.id ?? randomId(random, 24),
    name: call.name,
    takesText: false,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
  }))
  const text = script.text ?? (calls.length > 0 ? '' : generateText(request, random))
  const images = script.images?.map(({ data, mediaType = 'image/png' }) => ({ data, mediaType }))
  return { text, calls, finish: script.finish, reasoning: script.reasoning, images }
}

/** The scripted images, or one image of a single colour when the request asks for one. */
function generateImages(request: GenerationRequest, given: Draft, random: () => number): readonly GeneratedImage[] {
  if (given.images) return given.images
  if (!request.wantsImage || given.calls.length > 0) return []
  return [{ data: pngOf(random, 64, 64).toString('base64'), mediaType: 'image/png' }]
}

/** The text up to the first stop sequence in it. */
function stopAt(text: string, stops: readonly string[]): { text: string; stopSequence?: string } {
  let end = -1
  let stopSequence: string | undefined
  for (const stop of stops) {
    const at = stop === '' ? -1 : text.indexOf(stop)
    if (at < 0 || (end >= 0 && at >= end)) continue
    end = at
    stopSequence = stop
  }
  return stopSequence === undefined ? { text } : { text: text.slice(0, end), stopSequence }
}

function buildChoice(request: GenerationRequest, given: Draft, random: () => number): GeneratedChoice {
  let left = request.maxTokens ?? Infinity
  let isShort = false
  const within = (pieces: string[]): string[] => {
    isShort ||= pieces.length > left
    const taken = pieces.length > left ? pieces.slice(0, left) : pieces
    left -= taken.length
    return taken
  }
  const reasoningText =
    given.reasoning ?? (request.reasoningTokens > 0 ? textOfTokens(request.reasoningTokens, random) : '')
  const reasoning = within(tokensOf(reasoningText))
  const stopped = stopAt(given.text, request.stop)
  const text = within(tokensOf(stopped.text))
  const calls: GeneratedToolCall[] = []
  for (const call of given.calls) {
    if (left === 0) isShort = true
    else
      calls.push({
        id: call.id,
        name: call.name,
        takesText: call.takesText,
        pieces: within(tokensOf(call.arguments)),
      })
  }
  const finish = isShort ? 'length' : (given.finish ?? (given.calls.length > 0 ? 'tool-calls' : 'stop'))
  const images = generateImages(request, given, random)
  return { reasoning, text, calls, images, finish, stopSequence: isShort ? undefined : stopped.stopSequence }
}

function tokensOfChoice(choice: GeneratedChoice): number {
  return choice.calls.reduce((sum, call) => sum + call.pieces.length, choice.text.length + choice.reasoning.length)
}

/** Generates the answer to `request`; a script overrides the parts that it gives. */
export function generate(request: GenerationRequest, seed: number, script?: ScriptedReply): Generation {
  const key = `${request.model}\n${request.conversationKey}`
  const choices = Array.from({ length: request.choices }, (_, index) => {
    const random = seededRandom(hash(`${index}\n${key}`, seed))
    return buildChoice(request, draft(request, script, random), random)
  })
  const cachedTokens = Math.min(directive(request.userText, 'cached') ?? 0, request.inputTokens)
  const written = directive(request.userText, 'cache-write') ?? 0
  return {
    id: randomId(seededRandom(hash(key, seed)), 24),
    model: request.model,
    choices,
    usage: {
      inputTokens: request.inputTokens,
      cachedTokens,
      cacheWriteTokens: Math.min(written, request.inputTokens - cachedTokens),
      cacheWriteOneHourTokens: 0,
      outputTokens: choices.reduce((sum, choice) => sum + tokensOfChoice(choice), 0),
      reasoningTokens: choices.reduce((sum, choice) => sum + choice.reasoning.length, 0),
    },
  }
}
