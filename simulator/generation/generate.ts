/** Decides what to answer: the same seed, model and conversation always get the same words. */
import type { Ask, AskTool, Reply, ReplyCall, ReplyChoice, ReplyImage } from './types.ts'
import { pngOf } from './media.ts'
import { hash, randomId, randomOf } from './random.ts'
import type { ScriptedReply } from '../script/script.ts'
import { synthesise } from './schema-value.ts'
import { sentence, textOfTokens, tokensOf } from './tokens.ts'

const tokensMax = 1_000_000

interface Draft {
  readonly text: string
  readonly calls: readonly { id: string; name: string; takesText: boolean; arguments: string }[]
  readonly finish?: ReplyChoice['finish']
  readonly reasoning?: string
  readonly images?: readonly ReplyImage[]
}

/** What the last message of the user orders, a line each. `say:` takes all that follows it. */
function directive(userText: string, name: 'tokens' | 'cached' | 'cache-write'): number | undefined {
  const found = new RegExp(`^${name}: *(\\d{1,9})`, 'm').exec(userText)
  return found ? Math.min(Number(found[1]), tokensMax) : undefined
}

function toolsToCall(ask: Ask): AskTool[] {
  const { toolChoice, tools, userText } = ask
  if (tools.length === 0 || toolChoice === 'none') return []
  if (typeof toolChoice === 'object') return tools.filter(tool => tool.name === toolChoice.name).slice(0, 1)
  const named = tools.filter(tool => tool.name !== '' && userText.includes(tool.name))
  const wanted = named.length > 0 ? named : tools.slice(0, 1)
  const several = ask.parallelTools ? wanted : wanted.slice(0, 1)
  if (toolChoice === 'required') return several
  if (ask.toolResult !== undefined || /^say:/m.test(userText)) return []
  return named.length > 0 || /use the tool/i.test(userText) ? several : []
}

function callTools(tools: readonly AskTool[], random: () => number): Draft {
  const calls = tools.map(tool => ({
    id: randomId(random, 24),
    name: tool.name,
    takesText: tool.takesText,
    arguments: tool.takesText ? sentence(random) : JSON.stringify(synthesise(tool.schema, random)),
  }))
  return { text: '', calls }
}

function textFor(ask: Ask, random: () => number): string {
  const said = /^say: ?([\s\S]*)/m.exec(ask.userText)
  if (said) return said[1]!
  const count = directive(ask.userText, 'tokens')
  if (count !== undefined) return textOfTokens(count, random)
  if (ask.toolResult !== undefined) return `The tool said: ${ask.toolResult}`
  if (ask.json) {
    const schema = ask.json.schema ?? { type: 'object', properties: { answer: { type: 'string' } } }
    return JSON.stringify(synthesise(schema, random))
  }
  const seen = ask.images > 0 ? `I see ${ask.images} image${ask.images === 1 ? '' : 's'}. ` : ''
  return seen + sentence(random)
}

function draft(ask: Ask, script: ScriptedReply | undefined, random: () => number): Draft {
  if (!script) {
    const tools = toolsToCall(ask)
    return tools.length > 0 ? callTools(tools, random) : { text: textFor(ask, random), calls: [] }
  }
  const calls = (script.toolCalls ?? []).map(call => ({
    id: call.id ?? randomId(random, 24),
    name: call.name,
    takesText: false,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
  }))
  const text = script.text ?? (calls.length > 0 ? '' : textFor(ask, random))
  const images = script.images?.map(({ data, mediaType = 'image/png' }) => ({ data, mediaType }))
  return { text, calls, finish: script.finish, reasoning: script.reasoning, images }
}

/** What was scripted, or a picture of one colour for those who want one. */
function imagesFor(ask: Ask, given: Draft, random: () => number): readonly ReplyImage[] {
  if (given.images) return given.images
  if (!ask.paints || given.calls.length > 0) return []
  return [{ data: pngOf(random, 64, 64).toString('base64'), mediaType: 'image/png' }]
}

/** The text up to the stop sequence that comes first. */
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

function choose(ask: Ask, given: Draft, random: () => number): ReplyChoice {
  let left = ask.maxTokens ?? Infinity
  let isShort = false
  const within = (pieces: string[]): string[] => {
    isShort ||= pieces.length > left
    const taken = pieces.length > left ? pieces.slice(0, left) : pieces
    left -= taken.length
    return taken
  }
  const thought = given.reasoning ?? (ask.reasoningTokens > 0 ? textOfTokens(ask.reasoningTokens, random) : '')
  const reasoning = within(tokensOf(thought))
  const stopped = stopAt(given.text, ask.stop)
  const text = within(tokensOf(stopped.text))
  const calls: ReplyCall[] = []
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
  const images = imagesFor(ask, given, random)
  return { reasoning, text, calls, images, finish, stopSequence: isShort ? undefined : stopped.stopSequence }
}

function tokensOfChoice(choice: ReplyChoice): number {
  return choice.calls.reduce((sum, call) => sum + call.pieces.length, choice.text.length + choice.reasoning.length)
}

/** The answer to `ask`; a script decides what it says of it. */
export function think(ask: Ask, seed: number, script?: ScriptedReply): Reply {
  const key = `${ask.model}\n${ask.key}`
  const choices = Array.from({ length: ask.choices }, (_, index) => {
    const random = randomOf(hash(`${index}\n${key}`, seed))
    return choose(ask, draft(ask, script, random), random)
  })
  const cachedTokens = Math.min(directive(ask.userText, 'cached') ?? 0, ask.inputTokens)
  const written = directive(ask.userText, 'cache-write') ?? 0
  return {
    id: randomId(randomOf(hash(key, seed)), 24),
    model: ask.model,
    choices,
    usage: {
      inputTokens: ask.inputTokens,
      cachedTokens,
      cacheWriteTokens: Math.min(written, ask.inputTokens - cachedTokens),
      outputTokens: choices.reduce((sum, choice) => sum + tokensOfChoice(choice), 0),
      reasoningTokens: choices.reduce((sum, choice) => sum + choice.reasoning.length, 0),
    },
  }
}
